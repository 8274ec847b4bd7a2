// Scenarios about child processes: what they inherit, and how their ends are reported.
import Foundation
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Starts a program; its output comes between this program's.
func spawn(_ words: [String]) -> Int32 {
    fflush(nil)
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    precondition(posix_spawn(&child, words[0], nil, nil, &arguments, environ) == 0)
    return child
}

/// A child of each kind, which sends SIGTERM to itself and says so if it survives.
func terminated() throws {
    let source = try makeSource("never", SIGTERM)
    var template = Array("/tmp/RunLoopKit-XXXXXX".utf8CString)
    close(mkstemp(&template))
    let script = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer { unlink(script) }
    try "kill -TERM $$; echo survived".write(toFile: script, atomically: true, encoding: .utf8)
    for (way, start) in waysToStart {
        print(way)
        fflush(nil)
        try start(["/bin/sh", script])
    }
    withExtendedLifetime(source) {}
}

private let waysToStart: [(String, @Sendable ([String]) throws -> Void)] = [
    ("posix_spawn", { waitpid(spawn($0), nil, 0) }),
    ("fork and execv", { forkAndExecute($0) }),
    (
        "a shell",
        { waitpid(spawn(["/bin/sh", "-c", $0.joined(separator: " ")]), nil, 0) }
    ),
    ("system", { _ = system($0.joined(separator: " ")) }),
    ("popen", { readFromPipe($0) }),
    ("Process of Foundation", { try startByFoundation($0) }),
]

/// `fork` by its symbol: Swift does not import it.
func forkNow() -> pid_t { unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)() }

private func forkAndExecute(_ words: [String]) {
    let path = strdup(words[0])!
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for text in arguments + [path] { free(text) } }
    let child = forkNow()
    if child == 0 {
        execv(path, &arguments)
        _exit(127)
    }
    waitpid(child, nil, 0)
}

private func readFromPipe(_ words: [String]) {
    let pipe = popen(words.joined(separator: " "), "r")!
    var line = [CChar](repeating: 0, count: 100)
    while fgets(&line, Int32(line.count), pipe) != nil {
        print(String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self), terminator: "")
    }
    pclose(pipe)
}

private func startByFoundation(_ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    try process.run()
    process.waitUntilExit()
}

/// `terminate()` of Foundation's `Process` ends a child.
func terminatedByFoundation() throws {
    let source = try makeSource("never", SIGTERM)
    let gate = Pipe()
    // It reads from the pipe, which stays open: only a signal ends it.
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/cat")
    process.standardInput = gate
    try process.run()
    process.terminate()
    process.waitUntilExit()
    print("ended by \(process.terminationStatus)")
    withExtendedLifetime((source, gate)) {}
}

/// A child's end is reported by its process source and, as SIGCHLD, by a signal source.
func children() throws {
    let signals = try Source(SIGCHLD) { _, arrivals in print("SIGCHLD: \(arrivals.count)") }
    loop.add(signals, in: .default)
    let child = spawn(["/bin/sh", "-c", "exit 3"])
    let process = try Loop.ProcessSource(child) { _, exit in print(exit) }
    loop.add(process, in: "processes")
    loop.run(mode: .default, until: .distantFuture, returnAfterSourceHandled: true)
    print(loop.run(mode: "processes", until: .distantFuture))
}

/// While SIGCHLD is ignored the kernel itself reaps children.
func ignoredChildren() throws {
    signal(SIGCHLD, SIG_IGN)
    let gate = UnsafeMutablePointer<Int32>.allocate(capacity: 2)
    defer { gate.deallocate() }
    precondition(pipe(gate) == 0)
    let child = spawn(["/bin/sh", "-c", "read line <&\(gate[0])"])
    let process = try Loop.ProcessSource(child) { _, exit in print(exit) }
    loop.add(process, in: "processes")
    print(loop.run(mode: "processes", for: .zero))
    write(gate[1], "\n", 1)
    print(loop.run(mode: "processes", until: .distantFuture))
}

// Hidden from Swift, because it is variadic.
@_silgen_name("ptrace") func trace(_ request: Int, _ process: Int, _ address: Int, _ data: Int) -> Int

/// Reads a byte; 0 at the end.
func readByte(_ descriptor: Int32) -> UInt8 {
    var byte: UInt8 = 0
    return read(descriptor, &byte, 1) == 1 ? byte : 0
}

func writeByte(_ descriptor: Int32, _ byte: UInt8) {
    precondition([byte].withUnsafeBytes { write(descriptor, $0.baseAddress, 1) } == 1)
}

/// The tracer: reports whether it may trace, and when the process has ended; detaches on request.
func tracer(of process: Int32, says output: Int32, heeds input: Int32) {
    let seize = 0x4206  // PTRACE_SEIZE
    guard trace(seize, Int(process), 0, 0) == 0 else { return writeByte(output, UInt8(ascii: "n")) }
    writeByte(output, UInt8(ascii: "y"))
    var info = siginfo_t()
    while waitid(P_PID, id_t(process), &info, Int32(WEXITED | WNOWAIT)) < 0, errno == EINTR {}
    writeByte(output, UInt8(ascii: "e"))
    _ = readByte(input)
}

/// The exit of a child that another process traces is reported when the tracer has detached, and the loop does not spin
/// until then.
func tracedChild() throws {
    func makePipe() -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0)
        return (ends[0], ends[1])
    }
    let (gate, fromTracer, toTracer) = (makePipe(), makePipe(), makePipe())
    let child = spawn(["/bin/sh", "-c", "read line <&\(gate.reader); exit 7"])
    let other = spawn([CommandLine.arguments[0], "tracer", "\(child)", "\(fromTracer.writer)", "\(toTracer.reader)"])
    guard readByte(fromTracer.reader) == UInt8(ascii: "y") else {
        kill(child, SIGKILL)
        return print("skipped: tracing is not permitted")
    }
    let source = try Loop.ProcessSource(child) { _, exit in print(exit) }
    loop.add(source)
    let descriptor = try loop.hosting.begin()
    /// How often the host was woken; it stops after a hundred times.
    func serve(waits: Bool) -> Int {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if waits { while poll(&request, 1, -1) < 0 {} }
        var count = 0
        while poll(&request, 1, 0) > 0, count < 100 {
            loop.hosting.pass()
            count += 1
        }
        return count
    }
    _ = serve(waits: false)
    writeByte(gate.writer, UInt8(ascii: "\n"))
    precondition(readByte(fromTracer.reader) == UInt8(ascii: "e"))
    print("ended, and quiet: \(serve(waits: false) < 100)")
    guard source.isValid else {
        print("reported too early")
        writeByte(toTracer.writer, UInt8(ascii: "\n"))  // The tracer ends.
        exit(1)
    }
    writeByte(toTracer.writer, UInt8(ascii: "\n"))
    print("detached, and quiet: \(serve(waits: true) < 100)")
    loop.hosting.end()
    waitpid(other, nil, 0)
}
