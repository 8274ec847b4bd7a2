import Glibc
import RunLoopKit

// A host that knows nothing but poll(2), with a pipe of its own.
var pipeEnds: [Int32] = [-1, -1]
guard pipe(&pipeEnds) == 0 else { fatalError("no pipe") }

// What the loop is to serve meanwhile.
var ticks = 0
let tick = Loop.Timer(every: .milliseconds(5), isolation: .shared) { _ in
    ticks += 1
    if ticks == 3 { Loop.main.stop() }
}
Task { @MainActor in
    print("a task, on the main thread: \(Loop.main.isOnOwnThread)")
    write(pipeEnds[1], "hello", 5)
}

// The host.
let descriptor = try Loop.main.hosting.begin()
var requests = [
    pollfd(fd: pipeEnds[0], events: Int16(POLLIN), revents: 0),
    pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
]
var isOver = false
while !isOver, poll(&requests, 2, -1) > 0 || errno == EINTR {
    if requests[0].revents != 0 {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(pipeEnds[0], &bytes, bytes.count)
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        print("the host reads \(text)")
        Loop.main.add(tick, in: .common)
    }
    if requests[1].revents != 0 {
        isOver = Loop.main.hosting.pass() == .stopped
    }
}
Loop.main.hosting.end()
print("the loop was stopped after \(ticks) ticks")
