import Glibc
import RunLoopKit

/// Whether the calling thread blocks a signal.
func blocks(_ signal: Int32) -> Bool {
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return sigismember(&mask, signal) == 1
}

func report(_ signal: Int32, _ worker: LoopThread) throws {
    let onWorker = try worker.performAndWait { blocks(signal) }
    print("  the initial thread blocks it: \(blocks(signal))")
    print("  the worker blocks it: \(onWorker)")
}

print("SIGUSR1, whose source is made before the worker:")
let first = try Loop.SignalSource(SIGUSR1) { _, arrivals in
    print("  the source gets it: \(arrivals.count) time")
    Loop.main.stop()
}
Loop.main.add(first)
let worker = try LoopThread(name: "worker")
try report(SIGUSR1, worker)
kill(getpid(), SIGUSR1)
Loop.main.run()

print("SIGUSR2, whose source is made after the worker:")
do {
    let second = try Loop.SignalSource(SIGUSR2) { _, _ in }
    Loop.main.add(second)
} catch {
    // The description names the thread, and says what to do.
    print("  no source: \(String(cString: strerror(error.errno)))")
}
try report(SIGUSR2, worker)
