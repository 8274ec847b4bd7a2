import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Events between the kernel's report and the handler's call, and while a handler runs.
@Suite(.timeBound) struct FileDescriptorLastMomentTests {
    private typealias Source = Loop.FileDescriptorSource

    // MARK: Observers in between

    @Test("Data that an afterWaiting observer has read is not reported")
    func readByAnObserver() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let calls = Count()
        loop.add(try Source(pipe.reader) { _, _ in calls.up() }, in: .default)
        loop.add(Loop.Observer(.afterWaiting, repeats: false) { _, _ in _ = pipe.take() }, in: .default)
        pipe.send("a")
        #expect(loop.run(mode: .default, for: .seconds(1), returnAfterSourceHandled: true) == .timedOut)
        #expect(calls.value == 0)
    }

    @Test("Readiness that a run nested in an observer has served is not reported again")
    func servedByANestedRun() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String?>()
        loop.add(try Source(pipe.reader) { _, _ in log.add(pipe.take()) }, in: .default)
        loop.add(
            Loop.Observer(.afterWaiting, repeats: false) { _, _ in Loop.current.run(mode: .default, for: .zero) },
            in: .default)
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["a"])
    }

    @Test("An interest that an observer changes decides what is reported")
    func interestChangedByAnObserver() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let log = Log<Source.Readiness>()
        let source = try Source(sockets.reader, interest: [.read, .write]) { source, ready in
            log.add(ready)
            source.disarm()
        }
        loop.add(source, in: .default)
        loop.add(Loop.Observer(.afterWaiting, repeats: false) { _, _ in source.interest = .read }, in: .default)
        sockets.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.readable])
    }

    @Test("A source that an observer disarms does not report")
    func disarmedByAnObserver() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let calls = Count()
        let source = try Source(pipe.reader) { source, _ in
            calls.up()
            source.disarm()
        }
        loop.add(source)
        loop.add(Loop.Observer(.afterWaiting, repeats: false) { _, _ in source.disarm() })
        pipe.send("a")
        #expect(loop.run(mode: .default, for: .seconds(1), returnAfterSourceHandled: true) == .timedOut)
        #expect(calls.value == 0)
        source.rearm()
        #expect(loop.run(mode: .default, for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
        #expect(calls.value == 1)
    }

    /// After the pass has checked the source, and before it calls the handler: another thread may do so then.
    @Test("A source disarmed after the last check does not report")
    func disarmedAfterTheLastCheck() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let calls = Count()
        let source = try Source(pipe.reader, isOneShot: true) { _, _ in calls.up() }
        loop.add(source)
        let mode = loop.lock.withLock { loop.state(for: .default) }
        pipe.send("a")
        let found = try #require(source.workBehind(.fresh(.read)))
        source.disarm()
        #expect(source.workBehind(.fresh(.read)) == nil && source.perform(.fresh(found), in: mode) == 0)
        source.rearm()
        #expect(source.perform(.fresh(found), in: mode) == 1 && !source.isArmed && calls.value == 1)
        #expect(source.perform(.fresh(found), in: mode) == 0 && calls.value == 1)
        loop.end()
    }

    /// Readiness that is not reported for lack of interest is not lost: the edge is raised again with the interest.
    @Test("An edge without interest is raised again when the interest is set")
    func unwantedEdge() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let calls = Count()
        let source = try Source(pipe.reader, trigger: .edge) { _, _ in calls.up() }
        loop.add(source, in: .default)
        loop.add(Loop.Observer(.afterWaiting, repeats: false) { _, _ in source.interest = [] }, in: .default)
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(calls.value == 0)
        source.interest = .read
        loop.run(mode: .default, for: .seconds(1))
        #expect(calls.value == 1)
    }

    // MARK: Fetched but not served

    /// A leftover names a source by more than its place in the table.
    @Test("A fetched report of a source that has left is dropped")
    func reportOfARemovedSource() throws {
        let (one, _) = Loop.inVirtualTime()
        let (two, _) = Loop.inVirtualTime()
        defer {
            one.end()
            two.end()
        }
        let pipes = [Ends.pipe(), Ends.pipe()]
        let idle = Ends.pipe()
        let log = Log<String>()
        let other = LoopBound<Source?>(nil, on: one)
        let first = try Source(pipes[0].reader) { _, _ in
            log.add("first \(pipes[0].take() ?? "nothing")")
            guard let moved = other.value else { return }
            one.remove(moved, in: .default)
            // Takes its place in the table of sources, and is not ready.
            one.add(try! Source(idle.reader) { _, _ in log.add("wrong") }, in: .default)
            two.add(moved, in: .default)
            other.value = nil
        }
        let second = try Source(pipes[1].reader) { _, _ in
            log.add("second in \(Loop.current === two ? "two" : "one") \(pipes[1].take() ?? "nothing")")
        }
        other.value = second
        for (source, pipe) in zip([first, second], pipes) {
            one.add(source, in: .default)
            pipe.send("a")
        }
        one.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["first a"])
        two.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["first a", "second in two a"])
        first.invalidate()
    }

    @Test("A token names no source once its source has left")
    func tokenOfARemovedSource() throws {
        let pipe = Ends.pipe()
        let sources = try (0..<2).map { _ in try Source(pipe.reader) { _, _ in } }
        let table = Source1Table()
        func insert(_ source: Source) -> UInt64? {
            table.insert(source, turn: 1)
            return table.token(of: source)
        }
        let first = try #require(insert(sources[0]))
        table.remove(sources[0])
        let second = try #require(insert(sources[1]))
        #expect(table.source(for: first) == nil && table.source(for: second) === sources[1])
        table.remove(sources[1])
        let again = try #require(insert(sources[1]))
        #expect(table.source(for: second) == nil && table.source(for: again) === sources[1])
    }

    @Test("An edge fetched but not served is served by the next run")
    func unservedEdge() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipes = (0..<3).map { _ in Ends.pipe() }
        let log = Log<Int>()
        for (index, pipe) in pipes.enumerated() {
            let source = try Source(pipe.reader, trigger: .edge) { _, _ in
                log.add(index)
                Loop.current.stop()
            }
            loop.add(source, in: .default)
            loop.add(source, in: "other")
            pipe.send("a")
        }
        loop.run(mode: .default, for: .seconds(1))
        // Each mode has an edge of its own.
        for _ in 0..<4 { loop.run(mode: "other", for: .seconds(1)) }
        for _ in 0..<3 { loop.run(mode: .default, for: .seconds(1)) }
        #expect(log.entries == [0, 0, 1, 2, 1, 2])
    }

    // MARK: While the handler runs

    @Test("A one-shot source re-armed during its handler reports again")
    func rearmedInItsHandler() throws {
        let thread = try LoopThread()
        let pipe = Ends.pipe()
        let (begun, rearmed, calls) = (Gate(), Gate(), Count())
        let source = try Source(pipe.reader, isOneShot: true) { _, _ in
            calls.up()
            begun.open()
            rearmed.wait()
        }
        thread.loop.add(source, in: .default)
        pipe.send("a")
        begun.wait()
        #expect(!source.isArmed)
        source.rearm()
        rearmed.open()
        spin(until: calls.value == 2)
        #expect(!source.isArmed)
    }

    @Test("An owned descriptor stays open until the outermost call has returned")
    func nestedCallsKeepItOpen() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        pipe.isWriterClosed = true
        let log = Log<Bool>()
        let calls = Count()
        let source = try Source(owning: pipe.writer, interest: .write) { source, _ in
            if calls.up() == 1 {
                Loop.current.run(mode: .default, for: .zero)
            } else {
                source.invalidate()
            }
            log.add(isOpen(source.descriptor))
        }
        loop.add(source, in: .default)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [true, true])
        #expect(source.descriptor == -1)
        pipe.waitUntilWriterIsGone()
    }

    @Test("A source released in its handler closes its descriptor once")
    func releasedInItsHandler() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        pipe.isWriterClosed = true
        weak var remains: Source?
        try {
            let source = try Source(owning: pipe.writer, interest: .write) { source, _ in
                Loop.current.remove(source, in: .default)
            }
            remains = source
            loop.add(source, in: .default)
        }()
        loop.run(mode: .default, for: .seconds(1))
        #expect(remains == nil)
        pipe.waitUntilWriterIsGone()
        // The number's next owner keeps it.
        let next = openFile("/dev/null")
        loop.run(mode: .default, for: .zero)
        #expect(isOpen(next))
        closeFile(next)
    }

    // MARK: Exceptional conditions

    private func old(_ events: PollEvents) -> Report { Report(events: events, age: .old, answer: 0) }

    /// For some files, asking consumes the condition, so the source trusts the kernel's report.
    @Test("An earlier report of an exceptional condition is believed")
    func earlierException() throws {
        let pipe = Ends.pipe()
        let source = try Source(pipe.reader, interest: [.read, .priority]) { _, _ in }
        #expect(source.workBehind(old([.priority, .error])) == [.priority, .error])
        #expect(source.workBehind(old([.read, .error])) == nil)
        source.interest = .read
        #expect(source.workBehind(old([.priority])) == nil)
    }
}
