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

/// Streams of a child that are connections of this process. These tests run a loop in real time until an event stops
/// it.
@Suite(.timeBound) struct ChildPipeTests {
    private typealias Child = Loop.ChildProcess
    private typealias Event = Loop.Connection.Event

    /// What is reported of a child and of its streams, until the last of them has ended.
    private final class Hearing: Sendable {
        let log = Log<String>()
        private let open: Count
        private let expected: Int

        /// - Parameter expected: How many ends there are: the child's, and one for each connection.
        init(expecting expected: Int) { (self.expected, open) = (expected, Count()) }

        func hear(_ connection: Loop.Connection, as name: String) {
            connection.setHandler { [self] _, event in
                switch event {
                case .received(let bytes): log.add("\(name): \(String(decoding: bytes, as: UTF8.self))")
                case .closed(let error): end("\(name) closed\(error.map { ": \($0)" } ?? "")")
                case .peerFinished, .connected, .drained: break
                }
            }
        }

        func end(_ what: String) {
            log.add(what)
            open.up()
            if open.value == expected { Loop.current.stop() }
        }

        /// Without the order among the child and its streams.
        var sorted: [String] { log.entries.sorted() }
    }

    @Test("Output and errors come by connections that join the child's modes")
    func outputAndErrors() throws {
        try onThreadOfItsOwn {
            let (loop, hearing) = (Loop.current, Hearing(expecting: 3))
            let child = try Child("sh", ["-c", "echo out; echo err >&2; exit 3"], output: .pipe, error: .pipe) {
                hearing.end("\($1)")
            }
            hearing.hear(child.outputConnection, as: "output")
            hearing.hear(child.errorConnection, as: "error")
            loop.add(child, in: "mode")
            #expect([child.outputConnection, child.errorConnection].allSatisfy { loop.contains($0, in: "mode") })
            #expect("\(child.outputConnection)".contains("output of \"sh\""))
            loop.run(mode: "mode", until: .distantFuture)
            #expect(
                hearing.sorted == ["error closed", "error: err\n", "exited with 3", "output closed", "output: out\n"])
            #expect(!child.outputConnection.isValid && !child.errorConnection.isValid)
        }
    }

    @Test("A child gets its input by a connection, and what it writes comes back, whatever the pipes hold")
    func roundTrip() throws {
        try onThreadOfItsOwn {
            let (loop, received) = (Loop.current, Log<Event>())
            let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 5) }
            let child = try Child("cat", input: .pipe, output: .pipe, error: .null) { _, exit in
                #expect(exit == .exited(0))
            }
            child.outputConnection.setHandler { _, event in
                received.add(event)
                if case .closed = event { Loop.current.stop() }
            }
            // Before it is in a loop: what the pipe has no room for waits.
            #expect(child.inputConnection.send(bytes))
            child.inputConnection.end()
            #expect(!child.inputConnection.send([1]) && child.inputConnection.pendingByteCount > 0)
            loop.add(child)
            loop.run()
            let all = received.entries.flatMap { if case .received(let bytes) = $0 { bytes } else { [UInt8]() } }
            #expect(all == bytes && received.entries.suffix(2) == [.peerFinished, .closed(nil)])
            #expect(!child.inputConnection.isValid)
            child.invalidate()
        }
    }

    @Test("Errors that go where the output goes need one connection, and an input that nobody reads is closed")
    func sameAsOutput() throws {
        try onThreadOfItsOwn {
            let (loop, hearing) = (Loop.current, Hearing(expecting: 3))
            let child = try Child(
                "sh", ["-c", "exec <&-; echo out; echo err >&2"], input: .pipe, output: .pipe, error: .sameAsOutput
            ) { hearing.end("\($1)") }
            hearing.hear(child.outputConnection, as: "output")
            hearing.hear(child.inputConnection, as: "input")
            loop.add(child)
            loop.run()
            let input = "input closed: write(\(child.inputConnection.descriptor)): Broken pipe (EPIPE)"
            let output = hearing.sorted.filter { $0.hasPrefix("output: ") }.map { $0.dropFirst("output: ".count) }
            #expect(output.joined() == "out\nerr\n" || output.joined() == "err\nout\n")
            #expect(hearing.sorted.filter { !$0.hasPrefix("output: ") } == ["exited with 0", input, "output closed"])
        }
    }

    @Test("A connection stays when its child has ended, and leaves with a child that is removed")
    func modes() throws {
        try onThreadOfItsOwn {
            let (loop, hearing) = (Loop.current, Hearing(expecting: 1))
            // It leaves another process behind, which has the output. In the background a shell reads from /dev/null.
            let gate = Ends.blockingPipe()
            let child = try Child(
                "sh", ["-c", "exec 3<&0; { read line <&3; echo later; } & exit 0"], input: .descriptor(gate.reader),
                output: .pipe
            ) { hearing.end("\($1)") }
            let output = child.outputConnection
            hearing.hear(output, as: "output")
            loop.add(child)
            loop.add(child, in: "other")
            loop.remove(child, in: "other")
            #expect(loop.contains(output) && !loop.contains(output, in: "other"))
            loop.run()
            #expect(hearing.log.entries.contains("exited with 0") && loop.contains(output) == output.isValid)
            gate.hangUp()
            while output.isValid { loop.run(for: .milliseconds(1)) }
            #expect(hearing.sorted == ["exited with 0", "output closed", "output: later\n"])
        }
    }

    @Test("A connection may be in another loop than its child")
    func otherLoop() throws {
        let threads = try (0..<2).map { _ in try LoopThread() }
        let (hearing, ends) = (Log<String>(), Count())
        let child = try Child("echo", ["hello"], output: .pipe) { _, _ in ends.up() }
        let output = child.outputConnection
        output.setHandler { _, event in
            if case .received(let bytes) = event { hearing.add(String(decoding: bytes, as: UTF8.self)) }
            if case .closed = event { ends.up() }
        }
        #expect(threads[0].loop.add(output, in: "mode") && threads[1].loop.add(child, in: "mode"))
        #expect(threads[0].loop.contains(output, in: "mode") && !threads[1].loop.contains(output, in: "mode"))
        for thread in threads { thread.perform { Loop.current.run(mode: "mode", until: .distantFuture) } }
        spin(until: ends.value == 2)
        #expect(hearing.entries == ["hello\n"])
        for thread in threads {
            thread.stop()
            thread.join()
        }
    }

    /// In a process of its own, whose descriptors are its own.
    @Test("No descriptor is left, and nothing is reported that is no mistake")
    func nothingIsLeft() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let loop = Loop.current
            loop.run(mode: .default, for: .zero)
            func count() -> Int { openDescriptors().values.count { $0.hasPrefix("pipe:") } }
            let before = count()
            do throws(LoopError) {
                _ = try Child("/nowhere/at-all", input: .pipe, output: .pipe, error: .pipe) { _, _ in }
                _exit(2)
            } catch { if error.errno != ENOENT { _exit(3) } }
            guard count() == before else { _exit(4) }
            // Not needed after all.
            try Child("true", input: .pipe, output: .pipe, error: .pipe) { _, _ in }.invalidate()
            guard count() == before, mistakes.entries.isEmpty else { _exit(5) }
            let child = try Child("true", input: .pipe, output: .pipe, error: .pipe) { _, _ in Loop.current.stop() }
            loop.add(child)
            loop.run()
            child.outputConnection.setHandler { _, _ in }
            child.errorConnection.setHandler { _, _ in }
            while child.inputConnection.isValid || child.outputConnection.isValid || child.errorConnection.isValid {
                loop.run(for: .milliseconds(1))
            }
            guard count() == before, mistakes.entries.isEmpty else { _exit(6) }
            // Never added: the child alone is named.
            _ = try Child("true", output: .pipe, label: "c") { _, _ in }
            _exit(mistakes.entries == [.neverAdded(item: "child process \"c\"")] ? 0 : 7)
        }
    }

    /// In a process of its own, where no other test opens a descriptor; but Dispatch may.
    @Test("A descriptor that is not open is refused, though a pipe of the child could get its number")
    func closedDescriptor() async {
        await #expect(processExitsWith: .success) {
            var refusals = 0
            while refusals < 3 {
                let number = dup(0)
                close(number)
                let streams: [(Child.Stream, Child.Stream, Child.ErrorStream)] = [
                    (.descriptor(number), .pipe, .pipe), (.pipe, .descriptor(number), .pipe),
                    (.pipe, .pipe, .descriptor(number)),
                ]
                let (input, output, error) = streams[refusals]
                do throws(LoopError) {
                    try Child("true", input: input, output: output, error: error) { _, _ in }.invalidate()
                    // Unless another thread has opened something else there.
                    guard let file = openDescriptors()[number], !file.hasPrefix("pipe:") else { _exit(2) }
                } catch {
                    if error.description != "dup2(\(number)): Bad file descriptor (EBADF)" { _exit(3) }
                    refusals += 1
                }
            }
            _exit(0)
        }
    }

    @Test("A connection of a stream that is no pipe is a mistake of the program")
    func noPipe() async {
        await #expect(processExitsWith: .failure) {
            let child = try Child("true", output: .null) { _, _ in }
            _ = child.outputConnection
        }
    }
}
