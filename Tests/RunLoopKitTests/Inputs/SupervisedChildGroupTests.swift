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

/// What a supervised child leaves in its group. See `SupervisedChildTests`.
@Suite(.timeBound) struct SupervisedChildGroupTests {
    private typealias Supervised = Loop.SupervisedChild
    private typealias Child = Loop.ChildProcess

    /// Without what comes after a comma.
    private func firstWords(_ event: Loop.SupervisedChild.Event) -> String {
        String(SupervisedChildTests.describe(event).prefix { $0 != "," })
    }

    /// A shell that leaves another one in its group, which ignores SIGTERM and ends with its input.
    private struct Shell {
        let input = Ends.blockingPipe()
        let output = Ends.blockingPipe()

        /// - Parameter leader: What the shell does then.
        func start(leader: String) throws -> Loop.ChildProcess {
            let script = "exec 3<&0; (trap '' TERM; echo ready; read line <&3) & \(leader)"
            return try Child(
                "sh", ["-c", script], input: .descriptor(input.reader), output: .descriptor(output.writer))
        }

        func waitUntilReady() {
            var text = ""
            while text != "ready\n" { text += output.take(1) ?? "" }
        }
    }

    @Test("It is over when nothing in the child's group is left", arguments: [false, true])
    func isOverAfterTheGroup(isKilled: Bool) throws {
        let worker = try LoopThread()
        let (shell, log) = (Shell(), Log<String>())
        let (isReady, isOver) = (Gate(), Gate())
        let supervised = Supervised(on: worker.loop) { try shell.start(leader: "wait") }
        supervised.start { supervised, event in
            log.add(String(SupervisedChildTests.describe(event).prefix { $0 != " " }))
            switch event {
            case .started:
                shell.waitUntilReady()
                isReady.open()
            case .over: isOver.open()
            default: break
            }
        }
        isReady.wait()
        #expect(supervised.end(within: .seconds(1000)))
        if isKilled { supervised.end(within: .zero) } else { shell.input.closeWriter() }
        isOver.wait()
        #expect(log.entries == ["started", "ended", "over:"])
        // Nobody has the end of the pipe any more.
        shell.output.hangUp()
        worker.stop()
        worker.join()
    }

    @Test("What a child leaves is ended before the next one starts, unless it is left alone", arguments: [7, nil])
    func others(_ grace: Int64?) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let (shell, log) = (Shell(), Log<String>())
        let supervised = Supervised(
            on: loop, backoff: .init(from: .seconds(1)), quickEndLimit: 2, othersGrace: grace.map { .seconds($0) }
        ) { try shell.start(leader: "exit 3") }
        supervised.start { supervised, event in
            if case .started(let child) = event {
                shell.waitUntilReady()
                waitForEnd(of: child.process)
            }
            log.add("\(clock.now.nanoseconds / 1_000_000_000): \(firstWords(event))")
        }
        loop.run()
        let wait = grace ?? 0
        #expect(
            log.entries == [
                "0: started", "\(wait): exited with 3", "\(wait + 1): started", "\(2 * wait + 1): exited with 3",
                "\(2 * wait + 1): over: gave up after too many ends",
            ])
        if grace == nil { shell.input.closeWriter() }
        shell.output.hangUp()
    }

    @Test("A child has not settled by the time that its others take to end")
    func crashWithOthers() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (shell, log) = (Shell(), Log<String>())
        let supervised = Supervised(
            on: loop, backoff: .init(from: .seconds(1), to: .seconds(5)), quickEndLimit: 3, othersGrace: .seconds(9)
        ) { try shell.start(leader: "exit 3") }
        supervised.start { supervised, event in
            if case .started(let child) = event {
                shell.waitUntilReady()
                waitForEnd(of: child.process)
            } else {
                log.add("\(event)")
            }
        }
        loop.run()
        #expect(
            log.entries == [
                "exited with 3, restarts after 1.0 seconds", "exited with 3, restarts after 2.0 seconds",
                "exited with 3, is not restarted", "over: gave up after too many ends",
            ])
    }

    @Test("At a success the program may end what the child has left")
    func othersAfterSuccess() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let (shell, log) = (Shell(), Log<String>())
        let last = LoopBound<Loop.ChildProcess?>(nil, on: loop)
        let supervised = Supervised(on: loop, othersGrace: nil) { try shell.start(leader: "exit 0") }
        supervised.start { supervised, event in
            log.add("\(clock.now.nanoseconds / 1_000_000_000): \(firstWords(event))")
            switch event {
            case .started(let child):
                last.value = child
                shell.waitUntilReady()
                waitForEnd(of: child.process)
            case .ended:
                last.value?.end(within: .seconds(5))
                #expect(supervised.child == nil && supervised.description.contains("others in the group"))
            default: last.value = nil
            }
        }
        loop.run()
        #expect(
            log.entries
                == ["0: started", "0: exited with 0", "5: over: exited with 0, which is final"].map {
                    String($0.prefix { $0 != "," })
                })
        shell.output.hangUp()
    }
}
