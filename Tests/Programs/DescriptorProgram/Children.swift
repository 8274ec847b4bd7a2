// What a child process takes of this one.

import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

private struct Use {
    let descriptors = (0..<1000).count { fcntl($0, F_GETFD) >= 0 }
    let threads = threadCount()

    private static func threadCount() -> Int {
        let file = open("/proc/self/status", O_RDONLY)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let text = String(decoding: bytes[..<max(read(file, &bytes, bytes.count), 0)], as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("Threads:") }!
        return Int(line.dropFirst(9))!
    }

    /// Prints how many more there are in another use.
    func printMore(_ name: String, in other: Use = Use()) {
        print("\(name): \(other.descriptors - descriptors) descriptors, \(other.threads - threads) threads")
    }
}

/// A child that ends when the gate is opened, which closes a descriptor.
private func child(behind gate: [Int32]) throws -> Loop.ChildProcess {
    try Loop.ChildProcess("cat", input: .descriptor(gate[0]), output: .null) { _, exit in print(exit) }
}

private func makeGate() -> [Int32] {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return ends
}

func countChildren() throws {
    let loop = Loop.current
    let gates = [makeGate(), makeGate(), makeGate()]
    try loop.prepare("children")  // opens its descriptors

    var use = Use()
    var running: Loop.ChildProcess? = try child(behind: gates[0])
    use.printMore("running")
    loop.add(running!, in: "children")
    use.printMore("in a loop")
    close(gates[0][1])
    use = Use()
    loop.run(mode: "children", until: .distantFuture)
    running = nil
    use.printMore("ended")

    use = Use()
    let piped = try Loop.ChildProcess("cat", input: .pipe, output: .pipe, error: .pipe) { _, exit in print(exit) }
    use.printMore("with three pipes")
    loop.add(piped, in: "children")
    piped.signal(SIGKILL)
    for connection in [piped.inputConnection, piped.outputConnection, piped.errorConnection] {
        connection.invalidate()
    }
    loop.run(mode: "children", until: .distantFuture)

    // A sanitizer starts a thread of its own with the first one.
    _ = try invalidateChild(behind: gates[1])
    use = Use()
    use.printMore("invalidated", in: try invalidateChild(behind: gates[2]))
    use.printMore("and ended")
}

/// Invalidates a child that runs. Returns what it takes then, once it and the thread that waits for it have ended.
private func invalidateChild(behind gate: [Int32]) throws -> Use {
    var left: Loop.ChildProcess? = try child(behind: gate)
    Loop.current.add(left!, in: "children")
    left!.invalidate()
    let use = Use()
    close(gate[1])
    left = nil
    while Use().threads == use.threads { sched_yield() }
    return use
}
