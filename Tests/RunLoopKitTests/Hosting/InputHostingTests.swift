import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

private let bothTriggers = Host.Trigger.allCases

/// Each kind of source in a hosted loop: the host learns of every event, and is not woken without one.
@Suite(.timeBound) struct InputHostingTests {
    @Test("A later pass continues after a partial read", arguments: bothTriggers)
    private func partialRead(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String>()
        let source = try Loop.FileDescriptorSource(pipe.reader) { _, _ in log.add(pipe.take(2) ?? "nothing") }
        loop.add(source, in: .default)
        let host = try Host(loop, .default, trigger)
        host.serve()
        for text in ["abcde", "fg"] {
            pipe.send(text)
            host.serve()
        }
        #expect(log.entries == ["ab", "cd", "e", "fg"])
        #expect(!host.isReadable && host.results.last == .idle)
        loop.hosting.end()
    }

    /// The observer's run takes the wake-up of what was posted.
    @Test("A host does not sleep while work waits that an observer before the rest has made", arguments: bothTriggers)
    private func workOfAnObserver(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let host = try Host(loop, .default, trigger)
        host.serve()
        let observer = Loop.Observer(.beforeWaiting, repeats: false) { _, _ in
            loop.perform { log.add("block") }
            loop.perform(in: "inner") {}
            loop.run(mode: "inner", for: .zero)
        }
        loop.add(observer)
        loop.wakeUp()
        host.serve()
        #expect(log.entries == ["block"])
        loop.hosting.end()
    }

    @Test("A host learns of a stop whose wake-up a run before the rest has taken", arguments: bothTriggers)
    private func stopOfAnObserver(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        loop.add(Loop.Source0 {})
        let host = try Host(loop, .default, trigger)
        host.serve()
        let observer = Loop.Observer(.beforeWaiting, repeats: false) { _, _ in
            loop.stop()
            loop.run(mode: .default, for: .zero)
        }
        loop.add(observer)
        loop.wakeUp()
        host.serve()
        #expect(host.results.contains(.stopped))
        loop.hosting.end()
    }

    @Test("An edge that no handler reads keeps no host busy", arguments: bothTriggers)
    private func unreadEdge(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let calls = Count()
        let source = try Loop.FileDescriptorSource(pipe.reader, trigger: .edge) { _, _ in calls.up() }
        loop.add(source, in: .default)
        let host = try Host(loop, .default, trigger)
        host.serve()
        for count in 1...3 {
            pipe.send("a")
            host.serve()
            #expect(calls.value == count && !host.isReadable)
        }
        loop.hosting.end()
    }

    @Test("Data that was read between two passes is not reported")
    func readBetweenPasses() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let pipe = Ends.pipe()
        let log = Log<String>()
        let source = try Loop.FileDescriptorSource(pipe.reader) { _, _ in log.add(pipe.take() ?? "nothing") }
        loop.add(source)
        let host = try Host(loop)
        host.serve()
        loop.add(
            Loop.Timer(after: .zero) { _ in
                pipe.send("a")
                // Otherwise the pass would not have asked the kernel again.
                loop.wakeUp()
            })
        #expect(loop.hosting.pass() == .more)
        #expect(pipe.take() == "a")
        host.serve()
        #expect(log.entries.isEmpty)
        loop.hosting.end()
    }

    @Test("A change between passes takes effect", arguments: bothTriggers)
    private func changeBetweenPasses(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        pipe.send("a")
        let calls = Count()
        let source = try Loop.FileDescriptorSource(pipe.reader, interest: [], isOneShot: true) { _, _ in calls.up() }
        loop.add(source, in: .default)
        let host = try Host(loop, .default, trigger)
        host.serve()
        #expect(calls.value == 0)
        source.interest = .read
        host.serve()
        #expect(calls.value == 1 && !host.isReadable)
        try onThreadOfItsOwn { source.rearm() }
        host.serve()
        #expect(calls.value == 2 && !host.isReadable)
        loop.hosting.end()
    }

    @Test("A later pass handles messages beyond a pass's share", arguments: bothTriggers)
    private func messagesBeyondTheShare(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> { log.add($0) }
        loop.add(port, in: .default)
        let host = try Host(loop, .default, trigger)
        host.serve()
        let count = 2 * Loop.MessagePort<Int>.messagesPerPass + 1
        try onThreadOfItsOwn { for number in 0..<count { port.send(number) } }
        #expect(host.serve() == 3)
        #expect(log.entries == Array(0..<count))
        #expect(!host.isReadable && host.results.last == .idle)
        loop.hosting.end()
    }

    @Test("An exit is reported", arguments: bothTriggers)
    private func exit(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let child = Child.waiting(then: "exit 4")
        let log = Log<Loop.ProcessSource.Exit>()
        loop.add(try Loop.ProcessSource(child.number) { _, exit in log.add(exit) }, in: .default)
        let host = try Host(loop, .default, trigger)
        host.serve()
        child.goOn()
        waitForEnd(of: child.number)
        host.serve()
        #expect(log.entries == [.exited(4)])
        #expect(!host.isReadable && host.results.last == .finished)
        loop.hosting.end()
    }
}
