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

/// Children whose time is limited. In virtual time a loop that has nothing else to do goes to the limit at once.
@Suite(.timeBound) struct ChildProcessLimitTests {
    private typealias Child = Loop.ChildProcess

    private static let ignoresTERM = "trap '' TERM; echo ready; exec sleep 1000"

    @Test("A child that takes too long is ended", arguments: [false, true])
    func limit(_ isSetFirst: Bool) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let talking = try TalkingChild(script: Self.ignoresTERM) { child, exit in
            log.add("\(exit), \(child.isOverTimeLimit), \(loop.now)")
        }
        talking.waitUntilReady()
        let child = talking.child
        if !isSetFirst { loop.add(child) }
        #expect(child.end(after: .seconds(10), within: .seconds(3)))
        if isSetFirst { loop.add(child, in: .common) }
        #expect(!child.isOverTimeLimit)
        loop.run()
        #expect(log.entries == ["ended by signal 9, true, 13000000000 ns"])
        #expect(!child.end(after: .seconds(10), within: .zero) && child.isOverTimeLimit)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
    }

    @Test("The grace period is the child's to end in")
    func grace() throws {
        let thread = try LoopThread()
        let (log, isOver) = (Log<String>(), Gate())
        let child = try Child("sleep", ["1000"]) { child, exit in
            log.add("\(exit), \(child.isOverTimeLimit)")
            isOver.open()
        }
        thread.loop.add(child)
        child.end(after: .nanoseconds(1), within: .seconds(1000))
        isOver.wait()
        #expect(log.entries == ["ended by signal 15, true"])
    }

    @Test("A child that has ended by itself is not over its limit, and keeps no timer", arguments: [0, 100])
    func inTime(_ seconds: Int) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let child = try Child("sh", ["-c", "exit 3"]) { child, exit in log.add("\(exit), \(child.isOverTimeLimit)") }
        waitForEnd(of: child.process)
        child.end(after: .seconds(seconds), within: .zero)
        loop.add(child)
        loop.run()
        #expect(log.entries == ["exited with 3, false"] && loop.now.nanoseconds == 0)
    }

    @Test("A second call replaces the limit, or removes it")
    func replaced() throws {
        let (loop, _) = Loop.inVirtualTime()
        let gate = Ends.blockingPipe()
        let child = try Child("cat", input: .descriptor(gate.reader), output: .null)
        child.setHandler { _, _ in }
        loop.add(child)
        loop.add(child, in: "other")
        for seconds in [5, 50, 20] { #expect(child.end(after: .seconds(seconds), within: .zero)) }
        loop.run(mode: "other", for: .seconds(19))
        #expect(!child.isOverTimeLimit && loop.count(of: "timer") == 2, "in each of the modes")
        #expect(child.end(after: .seconds(Int64.max), within: .zero))
        #expect(loop.count(of: "timer") == 0)
        loop.run(mode: .default, for: .seconds(1000))
        #expect(!child.isOverTimeLimit && child.isValid)
        loop.remove(child, in: "other")
        #expect(child.end(after: .seconds(2), within: .zero))
        loop.run()
        #expect(child.isOverTimeLimit && !child.isValid)
    }

    @Test("A child that is invalidated or released has no limit any more", arguments: [false, true])
    func released(_ invalidates: Bool) throws {
        let (loop, _) = Loop.inVirtualTime()
        let gate = Ends.blockingPipe()
        var child: Child? = try Child("cat", input: .descriptor(gate.reader), output: .null) { _, _ in }
        let number = try #require(child?.process)
        if invalidates { loop.add(child!) }
        child!.end(after: .seconds(1), within: .zero)
        child!.invalidate()
        child = nil
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(isChild(number), "it runs on")
        gate.hangUp()
        spin(until: !isChild(number))
    }

    @Test("Pipes go on after the limit, and a task gets the exit")
    func awaited() async throws {
        let thread = try LoopThread()
        let child = try Child("sleep", ["1000"], output: .pipe)
        let isClosed = Gate()
        child.outputConnection.setHandler { connection, event in
            if event == .peerFinished { connection.end() }
            if case .closed = event { isClosed.open() }
        }
        thread.loop.add(child)
        child.end(after: .milliseconds(1), within: .seconds(1000))
        #expect(try await child.waitForEnd() == .signalled(SIGTERM, coreDumped: false))
        #expect(child.isOverTimeLimit)
        isClosed.wait()
    }

    @Test("A limit and a grace period follow a child out of the common modes", arguments: [false, true])
    func leavesCommonModes(_ isGrace: Bool) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let other = Loop(clock: clock)
        let talking = try TalkingChild(script: Self.ignoresTERM) { _, _ in }
        talking.waitUntilReady()
        let child = talking.child
        loop.add(child, in: .common)
        if isGrace { child.end(within: .seconds(5)) } else { child.end(after: .seconds(5), within: .zero) }
        loop.remove(child, in: .common)
        #expect(loop.count(of: "timer") == 0)
        #expect(other.add(child) && other.count(of: "timer") == 1)
        other.run()
        #expect(!child.isValid && clock.now == seconds(5))
    }

    @Test("The limit of a child of the background keeps no run going")
    func limitInTheBackground() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let child = try Child("sleep", ["1000"]) { _, _ in }
        child.keepsRunsGoing = false
        loop.add(child)
        child.end(after: .seconds(10), within: .zero)
        #expect(loop.runUntilFinished() == .finished)
        #expect(clock.now == seconds(0) && !child.isOverTimeLimit)
        child.end(within: .zero)
    }

}
