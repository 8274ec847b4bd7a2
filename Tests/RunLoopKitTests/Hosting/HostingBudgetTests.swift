import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Hosted passes with a time limit.
@Suite(.timeBound) struct HostingBudgetTests {
    @Test("A budget leaves the rest for the next pass")
    func restForTheNextPass() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        _ = try loop.hosting.begin()
        let log = Log<Int>()
        for number in 1...10 {
            loop.perform {
                clock.advance(by: .milliseconds(2))
                log.add(number)
            }
        }
        #expect(loop.hosting.pass(for: .milliseconds(5)) == .more)
        #expect(log.entries == [1, 2, 3])
        #expect(loop.hosting.timeout == .zero)
        #expect(loop.hosting.pass(for: .zero) == .more)
        #expect(log.entries.count > 3)
        while loop.hosting.pass(for: .milliseconds(5)) == .more {}
        #expect(log.entries == Array(1...10))
        #expect(loop.hosting.timeout == nil)
    }

    @Test("A budget is checked after each message of a port")
    func messages() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        _ = try loop.hosting.begin()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> {
            clock.advance(by: .milliseconds(3))
            log.add($0)
        }
        loop.add(port)
        for number in 1...100 { port.send(number) }
        #expect(loop.hosting.pass(for: .milliseconds(4)) == .more)
        #expect(log.entries == [1, 2])
        #expect(loop.hosting.pass(for: .zero) == .more)
        #expect(log.entries == [1, 2, 3])
        while loop.hosting.pass(for: .milliseconds(50)) == .more {}
        #expect(log.entries == Array(1...100))
        loop.hosting.end()
        loop.end()
    }

    @Test("A pass goes on with the timers that the one before has found, and with what has become of them")
    func cutTimers() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        _ = try loop.hosting.begin()
        let log = Log<Int>()
        let timers = (0..<10).map { number in
            Loop.Timer(restartableAfter: .milliseconds(number)) { _ in
                clock.advance(by: .milliseconds(3))
                log.add(number)
            }
        }
        for timer in timers { loop.add(timer) }
        let added = Loop.Timer(after: .zero) { _ in log.add(100) }
        clock.advance(by: .milliseconds(20))
        #expect(loop.hosting.pass(for: .milliseconds(4)) == .more)
        #expect(log.entries == [0, 1])
        timers[2].invalidate()
        timers[3].restart(after: .seconds(3600))
        timers[0].restart(after: .zero)
        loop.add(added)
        #expect(loop.hosting.pass(for: .milliseconds(4)) == .more)
        #expect(log.entries == [0, 1, 4, 5])
        while loop.hosting.pass(for: .milliseconds(4)) == .more {}
        #expect(log.entries == [0, 1, 4, 5, 6, 7, 8, 9, 0, 100])
        loop.hosting.end()
        loop.end()
    }

    @Test("A pass goes on with the sources that the one before has found signalled")
    func cutSources() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        _ = try loop.hosting.begin()
        let log = Log<Int>()
        let sources = (0..<6).map { number in
            Loop.Source0(order: -number) {
                clock.advance(by: .milliseconds(3))
                log.add(number)
            }
        }
        for source in sources {
            loop.add(source)
            source.signal()
        }
        #expect(loop.hosting.pass(for: .milliseconds(4)) == .more)
        #expect(log.entries == [5, 4])
        sources[3].invalidate()
        sources[5].signal()
        while loop.hosting.pass(for: .milliseconds(4)) == .more {}
        #expect(log.entries == [5, 4, 2, 1, 0, 5])
        loop.hosting.end()
        loop.end()
    }

    @Test("What a pass has left, and what then leaves the mode for another one, is not called in it")
    func cutStepAndLeaving() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        _ = try loop.hosting.begin()
        let log = Log<String>()
        let timers = (0..<3).map { number in
            Loop.Timer(after: .zero) { _ in
                clock.advance(by: .milliseconds(3))
                log.add("timer \(number)")
            }
        }
        let sources = (0..<3).map { number in
            Loop.Source0(order: number) {
                clock.advance(by: .milliseconds(3))
                log.add("source \(number)")
            }
        }
        for mode in [.default, "other"] as [Loop.Mode] {
            for timer in timers { loop.add(timer, in: mode) }
            for source in sources { loop.add(source, in: mode) }
        }
        for source in sources { source.signal() }
        #expect(loop.hosting.pass(for: .zero) == .more)
        #expect(loop.hosting.pass(for: .zero) == .more)
        loop.remove(timers[2])
        loop.remove(sources[2])
        while loop.hosting.pass(for: .zero) == .more {}
        #expect(log.entries.sorted() == ["source 0", "source 1", "timer 0", "timer 1"])
        loop.hosting.end()
        loop.run(mode: "other", for: .zero)
        #expect(log.entries.suffix(2) == ["source 2", "timer 2"])
        loop.end()
    }

    @Test("What a pass has left is released at the end of the hosting, and left to a run without a host")
    func cutStepAtTheEnd() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        _ = try loop.hosting.begin()
        let log = Log<Int>()
        weak var last: Loop.Timer?
        for number in 0..<3 {
            let timer = Loop.Timer(after: .zero) { _ in
                clock.advance(by: .milliseconds(3))
                log.add(number)
            }
            loop.add(timer)
            last = timer
        }
        #expect(loop.hosting.pass(for: .zero) == .more)
        loop.hosting.end()
        last?.invalidate()
        #expect(last == nil)
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [0, 1])
        loop.end()
    }

    @Test("A pass continues within its budget until nothing is left")
    func untilNothingIsLeft() throws {
        let (loop, _) = Loop.inVirtualTime(.manual)
        _ = try loop.hosting.begin()
        let served = Log<Int>()
        let ports = try (0..<100).map { number in try Loop.PortSource { _ in served.add(number) } }
        for port in ports {
            loop.add(port, in: .default)
            port.send()
        }
        #expect(loop.hosting.pass(for: .seconds(1)) == .idle)
        #expect(served.entries == Array(0..<100))
    }

    @Test("No kind of work starves under a tiny budget")
    func tinyBudget() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        _ = try loop.hosting.begin()
        let log = Log<String>()
        @Sendable func work(_ name: String) {
            clock.advance(by: .milliseconds(10))
            log.add(name)
        }
        @Sendable func post() {
            loop.perform {
                work("block")
                post()
            }
        }
        post()
        let sources = (1...3).map { _ in Loop.Source0 { work("source") } }
        for source in sources {
            loop.add(source, in: .default)
            source.signal()
        }
        for _ in 1...3 { loop.add(Loop.Timer(after: .zero) { _ in work("timer") }, in: .default) }
        let port = try Loop.PortSource { _ in work("port") }
        loop.add(port, in: .default)
        port.send()
        for _ in 1...20 { #expect(loop.hosting.pass(for: .milliseconds(1)) == .more) }
        let counts = Dictionary(grouping: log.entries, by: { $0 }).mapValues(\.count)
        #expect(counts["source"] == 3)
        #expect(counts["timer"] == 3)
        #expect(counts["port"] == 1)
        loop.hosting.end()
        loop.end()
    }

    @Test("Without time a pass calls one handler of each kind")
    func noTime() throws {
        let (loop, _) = Loop.inVirtualTime(.manual)
        let log = Log<String>()
        let sources = (1...3).map { number in Loop.Source0 { log.add("source \(number)") } }
        for source in sources {
            loop.add(source, in: .default)
            source.signal()
        }
        for number in 1...3 { loop.add(Loop.Timer(after: .zero) { _ in log.add("timer \(number)") }, in: .default) }
        _ = try loop.hosting.begin()
        for number in 1...3 {
            loop.hosting.pass(for: .zero)
            #expect(log.entries.suffix(2) == ["source \(number)", "timer \(number)"])
            #expect(log.entries.count == 2 * number)
        }
    }

    @Test("The budget of a pass inside a handler ends with the pass")
    func budgetOfANestedPass() throws {
        let (loop, _) = Loop.inVirtualTime(.manual)
        let log = Log<String>()
        _ = try loop.hosting.begin()
        loop.perform {
            #expect(loop.hosting.pass(for: .zero) != .stopped)
            // For the next pass, whose budget of a second serves all blocks before the timer.
            loop.perform {
                for number in 1...3 { loop.perform { log.add("block \(number)") } }
                loop.add(Loop.Timer(after: .zero) { _ in log.add("timer") })
            }
        }
        loop.hosting.pass(for: .seconds(1))
        #expect(log.entries == ["block 1", "block 2", "block 3", "timer"])
        loop.hosting.end()
    }
}
