import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Time that a test moves by hand.
@Suite(.timeBound) struct VirtualClockAdvanceTests {
    @Test("Manual time is served step by step on its own thread")
    func manualTimeStepByStep() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let times = Log<Loop.Instant>()
        loop.add(Loop.Timer(every: .seconds(1)) { _ in times.add(Loop.current.now) }, in: .default)
        clock.advance(by: .milliseconds(999))
        #expect(times.entries == [])
        clock.advance(by: .milliseconds(1))
        #expect(times.entries == [seconds(1)])
        clock.advance(by: .seconds(3))
        #expect(times.entries == [seconds(1), seconds(2), seconds(3), seconds(4)])
        clock.advance(by: .zero)
        clock.advance(by: .seconds(-1))
        #expect(clock.now == seconds(4))
    }

    @Test("Advancing manual time returns when the loop of another thread is idle")
    func manualTimeElsewhere() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let times = Log<Loop.Instant>()
        thread.loop.add(
            Loop.Timer(every: .seconds(1)) { _ in
                // Work that creates work is done too before the time advances.
                Loop.current.perform { Loop.current.perform { times.add(Loop.current.now) } }
            }, in: .default)
        for second in 1...50 {
            clock.advance(by: .seconds(1))
            #expect(times.entries.count == second)
        }
        clock.advance(by: .seconds(50))
        #expect(times.entries == (1...100).map { seconds($0) })
        #expect(clock.now == seconds(100))
    }

    @Test("A send before an advance is served when the advance returns")
    func sendBeforeAnAdvance() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let served = Count()
        let port = try Loop.PortSource { served.upBy($0) }
        thread.loop.add(port, in: .default)
        for sent in 1...3000 {
            port.send()
            clock.advance(by: .zero)
            #expect(served.value == sent)
        }
    }

    @Test("Advancing at once misses nothing")
    func advanceAtOnce() throws {
        for _ in 0..<100 {
            let clock = VirtualClock(.manual)
            let thread = try LoopThread(clock: clock)
            let count = Count()
            thread.loop.add(
                Loop.Timer(every: .seconds(1)) { _ in
                    count.up()
                    // The time also stands still between two runs of the thread.
                    Loop.current.stop()
                }, in: .default)
            clock.advance(by: .seconds(5))
            #expect(count.value == 5)
        }
    }

    @Test("Advancing on the loop's own thread serves everything that is due")
    func advanceOnTheOwnThread() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let done = Log<String>()
        loop.add(
            Loop.Timer(after: .seconds(1)) { _ in
                done.add("first")
                Loop.current.add(Loop.Timer(after: .zero) { _ in done.add("second") }, in: .default)
            }, in: .default)
        clock.advance(by: .seconds(1))
        #expect(done.entries == ["first", "second"])
        for name in ["p", "q"] {
            let port = try Loop.PortSource { _ in done.add(name) }
            loop.add(port, in: .default)
            port.send()
        }
        clock.advance(by: .zero)
        #expect(done.entries == ["first", "second", "p", "q"])
    }

    @Test("A message sent at the very end of an advance is served")
    func messageAtTheEnd() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let handled = Count()
        let port = Loop.MessagePort<Int> { _ in handled.up() }
        loop.add(port)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in port.send(1) })
        clock.advance(by: .seconds(1))
        #expect(handled.value == 1)
    }

    @Test("A handler of a thread's end makes itself slow", arguments: [VirtualClock.Advance.automatic, .manual])
    func slowEnd(_ advance: VirtualClock.Advance) throws {
        let clock = VirtualClock(advance)
        let thread = try LoopThread(clock: clock)
        thread.loop.onEnd { clock.advance(by: .seconds(1)) }
        thread.loop.add(Loop.Source0(cancel: { _, _ in clock.advance(by: .seconds(2)) }, perform: {}))
        thread.stop()
        thread.join()
        #expect(clock.now == seconds(3))
    }

    @Test("A manual clock stops between the time of a timer and the end of its tolerance")
    func advanceIntoTolerance() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let calls = Count()
        loop.add(Loop.Timer(after: .seconds(1), tolerance: .seconds(10)) { _ in calls.up() })
        let endless = Loop.Timer(after: .seconds(1), tolerance: .nanoseconds(Int64.max)) { _ in calls.up() }
        clock.advance(by: .seconds(5))
        #expect(calls.value == 0)
        clock.advance(by: .seconds(6))
        #expect(calls.value == 1)
        loop.add(endless)
        clock.advance(by: .seconds(5))
        #expect(calls.value == 1)
    }

    @Test("Advancing inside a handler lets time pass as if the handler were slow")
    func advanceInAHandler() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<String>()
        loop.add(Loop.Timer(after: .seconds(2)) { _ in log.add("b \(Loop.current.now)") }, in: .default)
        loop.add(
            Loop.Timer(after: .seconds(1)) { _ in
                clock.advance(by: .seconds(5))
                log.add("a \(Loop.current.now)")
            }, in: .default)
        clock.advance(by: .seconds(1))
        // The second timer has become due meanwhile, and late.
        #expect(log.entries == ["a \(seconds(6))", "b \(seconds(6))"])
    }

    @Test("Advancing returns though an observer stops every run")
    func runsThatStop() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<String>()
        let observer = Loop.Observer(.entry) { _, _ in loop.stop() }
        loop.add(observer)
        loop.perform { log.add("block") }
        clock.advance(by: .seconds(1))
        #expect(clock.now == seconds(1) && log.entries == [])
        observer.invalidate()
        clock.advance(by: .seconds(1))
        #expect(log.entries == ["block"])
    }

    @Test("Advancing returns though an observer stops every run, and first runs the loop in another mode")
    func runsThatStopAfterNestedOnes() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let (nested, fired) = (Count(), Count())
        loop.add(Loop.Source0 {}, in: "other")
        loop.add(
            Loop.Observer(.entry) { _, _ in
                loop.run(mode: "other", for: .zero)
                nested.up()
                if nested.value < 100 { loop.stop() }
            })
        loop.add(Loop.Timer(every: .seconds(1)) { _ in fired.up() })
        clock.advance(by: .seconds(3))
        #expect(clock.now == seconds(3) && nested.value < 10 && fired.value == 0)
    }
}
