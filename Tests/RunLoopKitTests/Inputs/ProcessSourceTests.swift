import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct ProcessSourceTests {
    private typealias Source = Loop.ProcessSource

    @Test("A child's exit is reported once, with its status")
    func exitStatus() throws {
        let (loop, _) = Loop.inVirtualTime()
        let child = Child.waiting(then: "exit 3")
        let log = Log<String>()
        let source = try Source(child.number) { source, exit in
            log.add(
                "\(exit), \(source.isValid ? "valid" : "invalid"), \(isZombie(source.process) ? "zombie" : "reaped")")
        }
        loop.add(source, in: .default)
        loop.add(source, in: "other")
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut, "not yet")
        #expect("\(loop)".contains("): process \(child.number)"))
        child.goOn()
        waitForEnd(of: child.number)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(loop.run(mode: "other", for: .seconds(1)) == .finished)
        #expect(log.entries == ["exited with 3, invalid, reaped"])
        #expect(!loop.add(source, in: .default))
    }

    @Test("The exit wakes a sleeping loop")
    func sleepingLoop() throws {
        let thread = try LoopThread()
        let child = Child.waiting(then: "exit 0")
        let log = Log<Loop.ProcessSource.Exit>()
        thread.loop.add(try Source(child.number) { _, exit in log.add(exit) }, in: .default)
        spin(until: thread.loop.waker.isAsleep)
        child.goOn()
        spin(until: !log.entries.isEmpty)
        #expect(log.entries == [.exited(0)])
    }

    @Test("An exit before the source was made or added is reported too")
    func earlierExit() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Loop.ProcessSource.Exit>()
        let (before, between) = (Child.waiting(then: "exit 1"), Child.waiting(then: "kill -9 $$"))
        before.goOn()
        waitForEnd(of: before.number)
        let sources = try [before, between].map { try Source($0.number) { _, exit in log.add(exit) } }
        between.goOn()
        waitForEnd(of: between.number)
        for source in sources {
            loop.add(source, in: .default)
            loop.run(mode: .default, for: .seconds(1))
        }
        #expect(log.entries == [.exited(1), .signalled(9, coreDumped: false)])
    }

    @Test("The source can leave the reaping to other code")
    func reapedElsewhere() throws {
        let (loop, _) = Loop.inVirtualTime()
        let child = Child.waiting(then: "exit 5")
        let log = Log<Loop.ProcessSource.Exit>()
        let sources = try [false, true].map { try Source(child.number, reaping: $0) { _, exit in log.add(exit) } }
        child.goOn()
        waitForEnd(of: child.number)
        loop.add(sources[0], in: .default)
        loop.run(mode: .default, for: .seconds(1))
        #expect(isZombie(child.number))
        loop.add(sources[1], in: .default)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.exited(5), .exited(5)] && !isZombie(child.number))
    }

    @Test("An exit reaped by other code is reported without a status")
    func statusTakenElsewhere() throws {
        let (loop, _) = Loop.inVirtualTime()
        let child = Child.waiting(then: "exit 5")
        let log = Log<Loop.ProcessSource.Exit>()
        loop.add(try Source(child.number) { _, exit in log.add(exit) }, in: .default)
        child.goOn()
        reap(child.number)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.unknown])
    }

    /// A grandchild, which the child leaves behind: its exit is observed, and its status belongs to another process.
    @Test("The exit of a process that is not a child is reported without a status")
    func noChild() throws {
        let thread = try LoopThread()
        let (output, hold) = (Ends.pipe(), Ends.blockingPipe())
        let child = Child(
            "/bin/sh", ["-c", "cat <&3 >/dev/null & echo $!; exec >/dev/null"], input: hold.reader,
            output: output.writer)
        reap(child.number)
        output.closeWriter()
        let number = try #require(Int32(String(output.take()!.dropLast())))
        let log = Log<Loop.ProcessSource.Exit>()
        thread.loop.add(try Source(number) { _, exit in log.add(exit) }, in: .default)
        try thread.performAndWait {}
        #expect(log.entries == [])
        hold.hangUp()
        spin(until: !log.entries.isEmpty)
        #expect(log.entries == [.unknown])
    }

    @Test("A stopped child has not ended")
    func stoppedChild() throws {
        let (loop, _) = Loop.inVirtualTime()
        let child = Child.waiting(then: "exit 0")
        let log = Log<Loop.ProcessSource.Exit>()
        loop.add(try Source(child.number) { _, exit in log.add(exit) }, in: .default)
        suspend(child.number)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries.isEmpty)
        end(child.number)
        waitForEnd(of: child.number)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.signalled(9, coreDumped: false)])
    }

    @Test("Of two sources that reap, one learns the status")
    func twoReapingSources() throws {
        let (loop, _) = Loop.inVirtualTime()
        let child = Child.waiting(then: "exit 6")
        let log = Log<Loop.ProcessSource.Exit>()
        for _ in 0..<2 { loop.add(try Source(child.number) { _, exit in log.add(exit) }, in: .default) }
        child.goOn()
        waitForEnd(of: child.number)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == [.exited(6), .unknown])
    }

    @Test("Invalidating reaps nothing and releases the handler")
    func invalidation() throws {
        let child = Child.waiting(then: "exit 0")
        weak var captured: Count?
        let source = try { () throws in
            let count = Count()
            captured = count
            return try Source(child.number) { _, _ in count.up() }
        }()
        child.goOn()
        waitForEnd(of: child.number)
        source.invalidate()
        #expect(captured == nil && isZombie(child.number))
        reap(child.number)
        let error = #expect(throws: LoopError.self) { try Source(child.number) { _, _ in } }
        #expect(error?.description == "pidfd_open(\(child.number)): No such process (ESRCH)")
    }

    @Test("A number that is not a process is refused", arguments: [0, -1, Int32.min])
    func noProcess(_ number: Int32) {
        let error = #expect(throws: LoopError.self) { try Source(number) { _, _ in } }
        #expect(error?.description == "pidfd_open(\(number)): Invalid argument (EINVAL)")
    }
}
