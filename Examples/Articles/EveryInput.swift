import Glibc
import RunLoopKit

let signal = try Loop.SignalSource(SIGUSR1) { _, arrivals in
    print("signal: \(arrivals.count) time")
    startChild()
}
let timer = Loop.Timer(after: .milliseconds(10)) { _ in
    print("timer")
    kill(getpid(), SIGUSR1)
}
let ends = makePipe()
let descriptor = try Loop.FileDescriptorSource(
    owning: ends.reading
) { source, ready in
    var byte: UInt8 = 0
    print("descriptor: \(read(source.descriptor, &byte, 1)) byte")
    Loop.main.add(timer)
}
let messages = Loop.MessagePort<String> { message in
    print("message port: \(message)")
    write(ends.writing, "x", 1)
}
let port = try Loop.PortSource { count in
    print("port: \(count) sends")
    messages.send("hello")
}
let source0 = Loop.Source0 {
    print("source0")
    for _ in 1...3 { port.send() }
}
for item in [signal, descriptor, messages, port, source0] as [Loop.Item] {
    Loop.main.add(item)
}

Loop.main.perform {
    print("block")
    source0.signal()
}
Loop.main.run()

@Sendable func startChild() {
    var child: pid_t = 0
    var arguments = [strdup("true"), nil]
    defer { free(arguments[0]) }
    posix_spawnp(&child, "true", nil, nil, &arguments, environ)
    do {
        let process = try Loop.ProcessSource(child) { _, exit in
            print("process: \(exit)")
            Loop.main.stop()
        }
        Loop.main.add(process)
    } catch { print(error) }
}

@Sendable func makePipe() -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    // Not for the child.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}
