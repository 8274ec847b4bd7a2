import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A child whose output and error go into a pipe.
final class TalkingChild {
    let child: Loop.ChildProcess
    let output = Ends.blockingPipe()

    init(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil, folder: String? = nil,
        input: Loop.ChildProcess.Stream = .null, handler: Loop.ChildProcess.Handler? = nil
    ) throws {
        child = try Loop.ChildProcess(
            program, arguments, environment: environment, folder: folder, input: input,
            output: .descriptor(output.writer), error: .sameAsOutput, handler: handler)
        output.closeWriter()
    }

    convenience init(script: String, handler: Loop.ChildProcess.Handler? = nil) throws {
        try self.init("sh", ["-c", script], handler: handler)
    }

    /// All of the output. Waits until nobody has its descriptor.
    var text: String {
        var text = ""
        while let more = output.take(), !more.isEmpty { text += more }
        return text
    }

    func waitUntilReady() { #expect(output.take() == "ready\n") }
}

/// Whether this process has children, zombies included.
private var hasChildren: Bool {
    var info = siginfo_t()
    return waitid(P_ALL, 0, &info, Int32(WEXITED | WNOWAIT | WNOHANG)) == 0
}

private let ignoresTERM = "trap '' TERM; echo ready; exec sleep 1000"

@Suite(.timeBound) struct ChildProcessTests {
    private typealias Child = Loop.ChildProcess

    // MARK: The exit

    @Test(
        "How a child ends is reported once, and then it is reaped",
        arguments: [
            ("exit 0", Loop.ProcessSource.Exit.exited(0)), ("exit 3", .exited(3)),
            ("kill -9 $$", .signalled(9, coreDumped: false)),
        ])
    func exits(_ script: String, _ exit: Loop.ProcessSource.Exit) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let child = try Child("sh", ["-c", script]) { child, exit in
            log.add("\(exit), \(child.isValid ? "valid" : "invalid"), \(isChild(child.process) ? "child" : "reaped")")
        }
        loop.add(child, in: .default)
        loop.add(child, in: "other")
        waitForEnd(of: child.process)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(loop.run(mode: "other", for: .seconds(1)) == .finished)
        #expect(log.entries == ["\(exit), invalid, child"] && !isChild(child.process))
        #expect(!child.signal(0) && !child.end(within: .zero), "nobody is signalled any more")
    }

    @Test("The exit wakes a sleeping loop; a handler may come later")
    func sleepingLoop() throws {
        let thread = try LoopThread()
        let log = Log<Loop.ProcessSource.Exit>()
        let child = try Child("sleep", ["1000"])
        thread.loop.add(child)
        spin(until: thread.loop.waker.isAsleep)
        #expect(child.signal(SIGINT))
        waitForEnd(of: child.process)
        #expect(log.entries.isEmpty && isChild(child.process))
        #expect(child.setHandler { _, exit in log.add(exit) })
        spin(until: !log.entries.isEmpty)
        #expect(log.entries == [.signalled(SIGINT, coreDumped: false)])
    }

    @Test("A child that other code has reaped is reported without a status, and is not signalled")
    func reapedElsewhere() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Loop.ProcessSource.Exit>()
        let child = try Child("true") { _, exit in log.add(exit) }
        loop.add(child)
        reap(child.process)
        #expect(!child.signal(0) && !child.end(within: .seconds(1)))
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.unknown])
    }

    @Test("A child that nobody waits for is reaped", arguments: [true, false], [true, false])
    func abandoned(_ invalidates: Bool, _ hasEnded: Bool) throws {
        let gate = Ends.blockingPipe()
        var child: Child? = try Child("cat", input: .descriptor(gate.reader), output: .null)
        let number = try #require(child?.process)
        if hasEnded {
            gate.hangUp()
            waitForEnd(of: number)
        }
        if invalidates { child?.invalidate() }
        child = nil
        #expect(hasEnded || isChild(number), "it still runs")
        if !hasEnded { gate.hangUp() }
        spin(until: !isChild(number))
    }

    @Test("Invalidating releases what the handler captured")
    func release() throws {
        weak var captured: Count?
        let child = try { () throws in
            let count = Count()
            captured = count
            return try Child("sleep", ["1000"]) { _, _ in count.up() }
        }()
        child.invalidate()
        #expect(captured == nil)
        #expect(child.signal(SIGKILL), "it can be signalled until it is reaped")
        spin(until: !isChild(child.process))
    }

    // MARK: What it gets

    @Test("Streams: null, and a descriptor; the error stream as the output")
    func streams() throws {
        #expect(try TalkingChild(script: "cat; echo out; echo error >&2").text == "out\nerror\n")
        let input = Ends.blockingPipe()
        input.send("hello")
        input.hangUp()
        #expect(try TalkingChild("cat", [], input: .descriptor(input.reader)).text == "hello")
        let quiet = Ends.blockingPipe()
        _ = try Child(
            "sh", ["-c", "echo out; echo error >&2"], output: .null, error: .descriptor(quiet.writer))
        quiet.closeWriter()
        #expect(quiet.take() == "error\n")
    }

    @Test("The environment, the folder, and the arguments")
    func surroundings() throws {
        let script = "pwd; echo \"$A|$HOME|$1|$2\""
        let child = try TalkingChild(
            "/bin/sh", ["-c", script, "sh", "x y", "ä"], environment: ["A": "1=2"], folder: "/usr")
        #expect(child.text == "/usr\n1=2||x y|ä\n")
        #expect(try TalkingChild("./sh", ["-c", "pwd"], folder: "/bin").text.hasSuffix("bin\n"))
    }

    @Test("No descriptor is inherited but the standard streams")
    func descriptors() throws {
        let file = openFile("/dev/null")
        let inheritable = dup(file)
        defer { for descriptor in [file, inheritable] { closeFile(descriptor) } }
        #expect(inheritable > 3)
        // One is of `ls` itself.
        #expect(try TalkingChild("ls", ["/proc/self/fd"]).text == "0\n1\n2\n3\n")
    }

    @Test("No signal is blocked or ignored, and the child leads its group")
    func signals() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            signal(SIGINT, SIG_IGN)
            System.blockAllSignals()
            let child = try TalkingChild("grep", ["-E", "^Sig(Blk|Ign)", "/proc/self/status"])
            let none = String(repeating: "0", count: 16)
            precondition(child.text == "SigBlk:\t\(none)\nSigIgn:\t\(none)\n")
            let other = try Child("sleep", ["1000"])
            precondition(getpgid(other.process) == other.process)
            precondition(other.signal(SIGKILL))
        }
    }

    // MARK: Errors

    private func error(_ program: String, _ arguments: [String] = [], folder: String? = nil) -> String {
        do {
            _ = try Child(program, arguments, folder: folder)
            return "none"
        } catch { return "\(error)" }
    }

    @Test("An error names the call and the path")
    func errors() throws {
        #expect(error("/nonexistent") == "posix_spawn(/nonexistent): No such file or directory (ENOENT)")
        #expect(error("nonexistent-x") == "posix_spawnp(nonexistent-x): No such file or directory (ENOENT)")
        #expect(error("") == "posix_spawnp(): No such file or directory (ENOENT)")
        #expect(error("/tmp") == "posix_spawn(/tmp): Permission denied (EACCES)")
        #expect(error("true", folder: "/nonexistent") == "chdir(/nonexistent): No such file or directory (ENOENT)")
        #expect(error("true", folder: "/dev/null") == "chdir(/dev/null): Not a directory (ENOTDIR)")
        let long = String(repeating: "x", count: 4 << 20)
        #expect(error("true", [long]) == "posix_spawnp(true): Argument list too long (E2BIG)")
        var path = Array("/tmp/RunLoopKit-XXXXXX".utf8CString)
        let file = mkstemp(&path)
        #expect(write(file, "nothing", 7) == 7)
        fchmod(file, 0o700)
        close(file)
        let name = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { remove(name) }
        #expect(error(name) == "posix_spawn(\(name)): Exec format error (ENOEXEC)")
        let closed = #expect(throws: LoopError.self) { try Child("true", output: .descriptor(-1)) }
        #expect(closed?.description == "dup2(-1): Bad file descriptor (EBADF)")
    }

    @Test("A NUL is refused, and so is a name that is no variable's")
    func refusedStrings() {
        #expect(error("a\0b").contains("(EINVAL); the program's name contains a NUL"))
        #expect(
            error("true", ["x", "\0"]) == "posix_spawnp(true): Invalid argument (EINVAL); argument 2 contains a NUL")
        #expect(error("true", folder: "\0").contains("the working folder contains a NUL"))
        for (name, value) in [("", "x"), ("a=b", "x"), ("a\0", "x"), ("a", "\0")] {
            let error = #expect(throws: LoopError.self) { try Child("true", environment: [name: value]) }
            #expect(error?.errno == EINVAL)
        }
    }

    @Test("Without a descriptor left, nothing is started")
    func noDescriptor() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            limit.rlim_max = 64
            limit.rlim_cur = 64
            #if canImport(Glibc)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #else
                setrlimit(RLIMIT_NOFILE, &limit)
            #endif
            // Another thread of the process may close a descriptor meanwhile: then a child starts.
            var code: Int32?
            while code == nil {
                while dup(0) >= 0 {}
                do throws(LoopError) {
                    try Child("true").invalidate()
                    spin(until: !hasChildren)
                } catch { code = error.errno }
            }
            precondition(code == EMFILE)
            precondition(!hasChildren)
            // Not exit: a sanitizer needs descriptors for its report.
            _exit(0)
        }
    }

    // MARK: The end

    @Test("A child that ignores SIGTERM is killed after the grace period, on the loop's clock", arguments: [1, 2])
    func killed(_ calls: Int) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Loop.ProcessSource.Exit>()
        let talking = try TalkingChild(script: ignoresTERM) { _, exit in log.add(exit) }
        talking.waitUntilReady()
        let start = clock.now
        // Before it is added: the period begins then. Of two periods the shorter one counts.
        for index in 0..<calls { #expect(talking.child.end(within: .seconds(3 + index))) }
        loop.add(talking.child)
        #expect(loop.run(mode: .default, for: .seconds(2)) == .timedOut)
        #expect(talking.child.isValid && "\(loop)".contains("asked to end"))
        #expect(talking.child.end(within: .seconds(100)))
        loop.run(mode: .default, for: .seconds(2))
        waitForEnd(of: talking.child.process)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == [.signalled(SIGKILL, coreDumped: false)])
        #expect(clock.now <= start + .seconds(5) && !isChild(talking.child.process))
    }

    @Test("A child that ends by SIGTERM ends the grace period, if nobody else is in its group")
    func ended() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Loop.ProcessSource.Exit>()
        let child = try Child("sleep", ["1000"]) { _, exit in log.add(exit) }
        loop.add(child, in: .common)
        let start = clock.now
        #expect(child.end(within: .seconds(5)))
        waitForEnd(of: child.process)
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(log.entries == [.signalled(SIGTERM, coreDumped: false)] && clock.now == start)
    }

    @Test("Grandchildren that ignore SIGTERM are killed at the end of the period; then the exit is reported")
    func grandchildren() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Loop.ProcessSource.Exit>()
        let talking = try TalkingChild(script: "(\(ignoresTERM)) & wait") { _, exit in log.add(exit) }
        let number = talking.child.process
        loop.add(talking.child)
        talking.waitUntilReady()
        let start = clock.now
        #expect(talking.child.end(within: .seconds(5)))
        waitForEnd(of: number)
        #expect(loop.run(mode: .default, for: .seconds(4)) == .timedOut)
        #expect(log.entries.isEmpty && isChild(number))
        #expect(talking.child.signal(0), "the group can be signalled")
        #expect(loop.run(mode: .default, for: .seconds(4)) == .finished)
        #expect(log.entries == [.signalled(SIGTERM, coreDumped: false)])
        #expect(clock.now == start + .seconds(5) && !isChild(number))
        #expect(talking.text == "", "nobody has the pipe any more")
    }

    @Test(
        "Without a loop to count on, SIGKILL is sent at once", arguments: ["released", "invalidated", "ended", "zero"])
    func noLoop(_ way: String) throws {
        var talking: TalkingChild? = try TalkingChild(script: ignoresTERM) { _, _ in }
        let number = try #require(talking?.child.process)
        talking?.waitUntilReady()
        let (loop, _) = Loop.inVirtualTime()
        if way == "ended" { loop.add(talking!.child) }
        #expect(talking!.child.end(within: way == "zero" ? .seconds(-1) : .seconds(5)))
        switch way {
        case "invalidated": talking?.child.invalidate()
        case "ended": loop.end()
        case "released": talking = nil
        default: break
        }
        waitForEnd(of: number)
        talking = nil
        spin(until: !isChild(number))
    }

    @Test("An invalidated child in a loop is still killed at the end of the period")
    func invalidatedWhileEnding() throws {
        let (loop, _) = Loop.inVirtualTime()
        let talking = try TalkingChild(script: ignoresTERM) { _, _ in }
        talking.waitUntilReady()
        loop.add(talking.child)
        talking.child.end(within: .seconds(5))
        talking.child.invalidate()
        #expect(loop.run(mode: .default, for: .seconds(4)) == .timedOut)
        #expect(isChild(talking.child.process))
        #expect(loop.run(mode: .default, for: .seconds(4)) == .finished)
        spin(until: !isChild(talking.child.process))
    }

    @Test("An infinite period has no end, and a second call may give one")
    func infinite() throws {
        let (loop, _) = Loop.inVirtualTime()
        let talking = try TalkingChild(script: ignoresTERM) { _, _ in }
        talking.waitUntilReady()
        loop.add(talking.child)
        #expect(talking.child.end(within: .seconds(Int64.max)))
        #expect(loop.run(mode: .default, for: .seconds(1_000_000)) == .timedOut && isChild(talking.child.process))
        #expect(talking.child.end(within: .seconds(1)))
        loop.run(mode: .default, for: .seconds(2))
        waitForEnd(of: talking.child.process)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
    }

    @Test("A stopped child ends by SIGTERM too")
    func stopped() throws {
        let child = try Child("sleep", ["1000"])
        suspend(child.process)
        #expect(child.end(within: .seconds(Int64.max)))
        waitForEnd(of: child.process)
        #expect(child.group.exit == .signalled(SIGTERM, coreDumped: false))
    }

    // MARK: The process

    @Test("A hundred children leave no descriptor and no zombie")
    func waste() async {
        await #expect(processExitsWith: .success) {
            let loop = Loop.current
            let count = Count()
            for round in 0..<2 {
                let before = Kernel.descriptors
                for index in 0..<100 {
                    let child = try Child("true") { _, exit in if exit == .exited(0) { count.up() } }
                    if index % 2 == 0 { loop.add(child, in: "children") } else { child.invalidate() }
                }
                precondition(loop.run(mode: "children", until: .distantFuture) == .finished)
                // Those without a loop are reaped by threads.
                spin(until: !hasChildren)
                spin(until: Kernel.threads < 10)
                precondition(round == 0 || Kernel.descriptors == before)
            }
            precondition(count.value == 100)
        }
    }

    @Test("While SIGCHLD is ignored, and beside a signal source for SIGTERM")
    func signalsOfTheProcess() async {
        await #expect(processExitsWith: .success) {
            let loop = Loop.current
            let log = Log<Loop.ProcessSource.Exit>()
            let source = try Loop.SignalSource(SIGTERM) { _, _ in fatalError("not for this process") }
            loop.add(source, in: .default)
            loop.add(try Child("sh", ["-c", "kill -TERM $$; echo survived"]) { _, exit in log.add(exit) }, in: "one")
            precondition(loop.run(mode: "one", until: .distantFuture) == .finished)
            signal(SIGCHLD, SIG_IGN)
            loop.add(try Child("true") { _, exit in log.add(exit) }, in: "one")
            precondition(loop.run(mode: "one", until: .distantFuture) == .finished)
            precondition(log.entries == [.signalled(SIGTERM, coreDumped: false), .unknown])
        }
    }

    @Test("Children are started and ended on several threads at once", arguments: 0..<20)
    func threads(_ round: Int) throws {
        let loops = try (0..<3).map { _ in try LoopThread() }
        let log = Log<Loop.ProcessSource.Exit>()
        for thread in loops {
            thread.perform {
                for _ in 0..<2 {
                    let child = try! Child("sleep", ["1000"]) { _, exit in log.add(exit) }
                    thread.loop.add(child)
                    loops[round % 3].perform { child.end(within: .seconds(1000)) }
                    child.end(within: .seconds(2000))
                }
            }
        }
        spin(until: log.entries.count == 6)
        #expect(log.entries.allSatisfy { $0 == .signalled(SIGTERM, coreDumped: false) })
    }

    @Test("Four megabytes go through a child, in pieces")
    func throughput() throws {
        let loop = Loop(clock: VirtualClock())
        let (input, output) = (Ends.blockingPipe(), Ends.blockingPipe())
        for descriptor in [input.writer, output.reader] { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
        let count = 4 << 20
        let (sent, received) = (Count(), Count())
        let exits = Log<Loop.ProcessSource.Exit>()
        let child = try Child("cat", input: .descriptor(input.reader), output: .descriptor(output.writer)) { _, exit in
            exits.add(exit)
        }
        input.closeReader()
        output.closeWriter()
        (input.isWriterClosed, output.isReaderClosed) = (true, true)
        let bytes = [UInt8](repeating: 7, count: 1 << 16)
        let writer = try Loop.FileDescriptorSource(owning: input.writer, interest: .write) { source, _ in
            let written = write(source.descriptor, bytes, min(bytes.count, count - sent.value))
            for _ in 0..<max(0, written) { sent.up() }
            if sent.value == count { source.invalidate() }
        }
        let reader = try Loop.FileDescriptorSource(owning: output.reader) { source, _ in
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            let got = read(source.descriptor, &bytes, bytes.count)
            for byte in bytes.prefix(max(0, got)) where byte == 7 { received.up() }
            if got == 0 { source.invalidate() }
        }
        for item in [writer, reader, child] as [Loop.Item] { loop.add(item) }
        #expect(loop.run(mode: .default, until: .distantFuture) == .finished)
        #expect(received.value == count && exits.entries == [.exited(0)])
    }

    @Test("Handlers of an actor, and of the main actor")
    func isolation() async throws {
        let keeper = try Keeper()
        try await keeper.start()
        while await keeper.exits.isEmpty { await Task.yield() }
        #expect(await keeper.exits == [.exited(4)])
    }

    private actor Keeper {
        private let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private(set) var exits: [Loop.ProcessSource.Exit] = []

        init() throws { thread = try LoopThread(name: "keeper") }

        func start() throws {
            let child = try Child("sh", ["-c", "exit 4"], isolation: self) { keeper, _, exit in
                keeper.exits.append(exit)
            }
            #expect(thread.loop.add(child))
            let other = try Child("true", isolation: .shared) { _, _ in }
            #expect(!Loop.current.insert(other, in: .default), "for the main loop only")
        }
    }
}
