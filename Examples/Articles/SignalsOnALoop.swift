import Glibc
import RunLoopKit

let reload = try Loop.SignalSource(SIGHUP, isolation: .shared) {
    _, arrivals in
    print("reloads: signal \(arrivals[0].signal)")
    kill(getpid(), SIGTERM)  // as a user would
}
let terminate = try Loop.SignalSource(SIGTERM) { _, _ in
    print("ends")
    Loop.main.stop()
}
Loop.main.add(reload, in: .common)
Loop.main.add(terminate, in: .common)

let worker = try LoopThread(name: "worker")
worker.perform { kill(getpid(), SIGHUP) }
Loop.main.run()

// A handler of sigaction may call stop and wakeUp of a Loop and send of a
// PortSource, and nothing else. It is called on any thread, here on the
// worker. Without `@Sendable` Swift takes it for the main actor's, and it
// traps there.
let port = try Loop.PortSource { count in
    print("the port was sent to \(count) time")
    Loop.main.stop()
}
Loop.main.add(port, in: .common)
signal(SIGUSR1) { @Sendable _ in port.send() }
worker.perform { raise(SIGUSR1) }  // for the thread that calls it
Loop.main.run()
