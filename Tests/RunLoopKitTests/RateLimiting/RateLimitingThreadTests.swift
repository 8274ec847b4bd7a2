import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Limiters that are called from other threads, and the end of limiters and of their loops.
@Suite(.timeBound) struct RateLimitingThreadTests {
    // MARK: Other threads

    @Test("Two quick calls from another thread make one action")
    func twoQuickCalls() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let log = Log<Int>()
        let limiter = Throttle<Int>(interval: .seconds(1), on: thread.loop) { log.add($0) }
        // The loop is busy: both calls come before any action.
        try occupied(thread) {
            #expect(limiter(1) && limiter(2))
            #expect(log.entries == [])
        }
        clock.advance(by: .zero)
        #expect(log.entries == [1])
    }

    @Test("Deadlines count from the call")
    func deadlinesCountFromCall() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let times = Log<Loop.Instant>()
        let limiter = Throttle<Int>(interval: .seconds(2), edges: [.leading, .trailing], on: thread.loop) { _ in
            times.add(Loop.current.now)
        }
        try occupied(thread) {
            limiter(1)
            limiter(2)
        }
        clock.advance(by: .milliseconds(1999))
        #expect(times.entries == [seconds(0)])
        clock.advance(by: .milliseconds(1))
        #expect(times.entries == [seconds(0), seconds(2)])
    }

    @Test("Actions are handed over in order and run on the loop's thread")
    func handoverKeepsOrder() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let log = Log<Int>()
        let limiter = Throttle<Int>(interval: .zero, on: thread.loop) {
            #expect(Loop.current === thread.loop)
            log.add($0)
        }
        for input in 0..<500 { limiter(input) }
        try thread.performAndWait {}
        #expect(log.entries == Array(0..<500))
    }

    @Test("A flush on the loop's thread performs actions that were handed over")
    func flushPerformsHandovers() throws {
        let (thread, caller) = (try LoopThread(clock: VirtualClock(.manual)), try LoopThread())
        let log = Log<Int>()
        let throttle = Throttle<Int>(interval: .seconds(1), on: thread.loop) { log.add($0) }
        let debounce = Debounce<Int>(interval: .seconds(1), edges: [.leading], on: thread.loop) { log.add($0) }
        let keyed = KeyedThrottle<Int, Int>(interval: .seconds(1), on: thread.loop) { log.add($1) }
        try thread.performAndWait {
            do {
                let released = Throttle<Int>(interval: .seconds(1), on: thread.loop, whenReleased: .flush) {
                    log.add($0)
                }
                try caller.performAndWait {
                    released(0)
                    throttle(1)
                    debounce(2)
                    keyed(3, for: 3)
                    keyed(4, for: 4)
                }
                #expect(log.entries == [] && !throttle.isPending)
            }
            #expect(log.entries == [0])
            #expect(!throttle.flush() && log.entries == [0, 1])
            #expect(!debounce.flush() && log.entries == [0, 1, 2])
            #expect(!keyed.flush(4) && log.entries == [0, 1, 2, 3, 4])
            try caller.performAndWait { keyed(5, for: 5) }
            #expect(!keyed.flushAll() && log.entries == [0, 1, 2, 3, 4, 5])
        }
        // Nothing is left for the blocks that were to perform them.
        try thread.performAndWait {}
        #expect(log.entries == [0, 1, 2, 3, 4, 5])
    }

    @Test("A call on the loop's thread does not overtake actions that were handed over")
    func callKeepsOrderOfHandovers() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let log = Log<Int>()
        let limiter = Throttle<Int>(interval: .zero, on: thread.loop) { log.add($0) }
        try occupied(
            thread,
            {
                limiter(1)
                limiter(2)
            },
            atTheEnd: {
                limiter(3)
                log.add(-1)
            })
        try thread.performAndWait {}
        #expect(log.entries == [1, 2, 3, -1])
    }

    @Test("Every input of many threads is collected once")
    func collectsEveryInput() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let log = Log<[Int]>()
        let limiter = Debounce<Int>.collecting(interval: .seconds(1), on: thread.loop) { log.add($0) }
        let callers = try (0..<4).map { _ in try LoopThread() }
        for (index, caller) in callers.enumerated() {
            caller.perform {
                for input in 0..<200 {
                    limiter(index * 1000 + input)
                    if input % 50 == 7 { limiter.flush() }
                }
            }
        }
        for caller in callers { try caller.performAndWait {} }
        clock.advance(by: .seconds(1))
        let inputs = log.entries.flatMap { $0 }
        let all: [Int] = (0..<4).flatMap { index in (0..<200).map { index * 1000 + $0 } }
        #expect(inputs.sorted() == all)
        for index in 0..<4 {
            let own = inputs.filter { $0 / 1000 == index }
            #expect(own == own.sorted())
        }
    }

    @Test("Calls, flushes, cancels and the end may come from many threads")
    func manyThreads() throws {
        let clock = VirtualClock()
        let thread = try LoopThread(clock: clock)
        for round in 0..<20 {
            let count = Count()
            let limiter = Debounce<Int>(
                interval: .nanoseconds(10), edges: [.leading, .trailing], maxWait: .nanoseconds(30),
                on: thread.loop
            ) { _ in count.up() }
            let callers = try (0..<3).map { _ in try LoopThread() }
            for caller in callers {
                caller.perform {
                    for input in 0..<100 {
                        limiter(input)
                        if input % 7 == 0 { limiter.flush() }
                        if input % 11 == 0 { limiter.cancel() }
                        if input % 13 == 0 { limiter.interval = .nanoseconds(input) }
                        _ = limiter.isPending
                    }
                    if round % 2 == 0 { limiter.invalidate() }
                }
            }
            for caller in callers { try caller.performAndWait {} }
            #expect(count.value <= 600)
        }
    }

    // MARK: Lifetime

    @Test("Dropping the last reference discards or flushes")
    func dropDiscardsOrFlushes() {
        for (release, expected) in [(RateLimitRelease.discard, []), (.flush, [2])] {
            let (loop, _) = Loop.inVirtualTime()
            let log = Log<Int>()
            weak var captured: Log<Int>?
            do {
                let own = Log<Int>()
                captured = own
                var limiter: Debounce<Int>? = Debounce(interval: .seconds(1), on: loop, whenReleased: release) {
                    own.add($0)
                    log.add($0)
                }
                limiter!(1)
                limiter!(2)
                limiter = nil
            }
            #expect(log.entries == expected && captured == nil)
            #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
            #expect(log.entries == expected)
        }
    }

    @Test("Dropping the last reference on another thread hands the pending call over")
    func dropOnOtherThread() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let log = Log<Int>()
        do {
            let limiter = Debounce<Int>(interval: .seconds(1), on: thread.loop, whenReleased: .flush) {
                #expect(Loop.current === thread.loop)
                log.add($0)
            }
            limiter(1)
        }
        try thread.performAndWait {}
        #expect(log.entries == [1])
    }

    @Test("An action may drop the last reference to its limiter")
    func dropInAction() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let box = Box<Debounce<Int>>()
        box.value = Debounce(interval: .seconds(1), on: loop) {
            box.value = nil
            log.add($0)
        }
        box.value!(1)
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(log.entries == [1])
    }

    @Test("A clean stop discards or flushes pending calls after the accepted blocks")
    func cleanStop() throws {
        for (release, expected) in [(RateLimitRelease.discard, [-1]), (.flush, [-1, 2])] {
            let thread = try LoopThread(clock: VirtualClock(.manual))
            let log = Log<Int>()
            let limiter = Debounce<Int>(interval: .seconds(1), on: thread.loop, whenReleased: release) {
                log.add($0)
            }
            limiter(1)
            try occupied(thread) {
                thread.perform {
                    limiter(2)
                    log.add(-1)
                }
                thread.stop()
            }
            thread.join()
            #expect(log.entries == expected)
            #expect(!limiter(3) && !limiter.isPending)
        }
    }

    @Test("A flushing limiter loses nothing to a stopping thread")
    func flushingLimiterAndStoppingThread() throws {
        // Another thread flushes, or drops the limiter, when the thread takes no blocks any more.
        let ways: [@Sendable (Box<Debounce<Int>>) -> Void] = [
            { $0.value = nil },
            { #expect($0.value!.flush()) },
            {
                #expect($0.value!.flush())
                $0.value = nil
            },
            { _ in },
        ]
        for (way, discarding) in ways.flatMap({ [($0, false), ($0, true)] }) {
            let thread = try LoopThread(clock: VirtualClock(.manual))
            let log = Log<Int>()
            let box = Box<Debounce<Int>>()
            box.value = Debounce(interval: .seconds(1), on: thread.loop, whenReleased: .flush) {
                #expect(Loop.current === thread.loop)
                log.add($0)
            }
            box.value!(1)
            try occupied(thread) {
                thread.perform { log.add(-1) }
                thread.stop(discardingPending: discarding)
                way(box)
                #expect(log.entries == [])
            }
            thread.join()
            #expect(log.entries == (discarding ? [1] : [-1, 1]))
            box.value = nil
            #expect(log.entries.count == (discarding ? 1 : 2))
        }
    }

    @Test("A leading call to a stopping thread is refused or kept")
    func leadingCallToStoppingThread() throws {
        for (release, expected) in [(RateLimitRelease.discard, []), (.flush, [1, 3, 2])] {
            let thread = try LoopThread(clock: VirtualClock(.manual))
            let log = Log<Int>()
            let limiter = Throttle<Int>(
                interval: .seconds(1), edges: [.leading, .trailing], on: thread.loop, whenReleased: release
            ) { log.add($0) }
            let keyed = KeyedThrottle<Int, Int>(interval: .seconds(1), on: thread.loop, whenReleased: release) {
                log.add($1)
            }
            try occupied(thread) {
                thread.stop()
                #expect(limiter(1) == (release == .flush))
                #expect(keyed(2, for: 1) == (release == .flush))
                #expect(limiter(3) && limiter.isPending)
            }
            thread.join()
            #expect(log.entries == expected && !limiter(4) && !keyed(4, for: 1))
        }
    }

    @Test("On a stopping thread an action that it has refused comes before those of later calls")
    func orderOnStoppingThread() throws {
        let loops = (0..<3).map { _ in try! LoopThread(clock: VirtualClock(.manual)) }
        let ways: [@Sendable (Box<Throttle<Int>>) -> Void] = [
            { $0.value!(2) }, { $0.value!.flush() }, { $0.value = nil },
        ]
        for (thread, way) in zip(loops, ways) {
            let log = Log<Int>()
            let box = Box<Throttle<Int>>()
            box.value = Throttle<Int>(interval: .zero, on: thread.loop, whenReleased: .flush) { log.add($0) }
            try occupied(thread) {
                thread.perform {
                    way(box)
                    log.add(-1)
                }
                thread.stop()
                #expect(box.value!(1))
            }
            thread.join()
            #expect(log.entries.filter { $0 != 2 } == [1, -1] && [nil, 1].contains(log.entries.firstIndex(of: 2)))
        }
    }

    @Test("On a stopping thread, keys and paced inputs that it has refused come before later ones")
    func orderOfKeysOnStoppingThread() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let log = Log<Int>()
        let keyed = KeyedThrottle<Int, Int>(interval: .zero, on: thread.loop, whenReleased: .flush) { log.add($1) }
        let all = KeyedThrottle<Int, Int>(interval: .zero, on: thread.loop, whenReleased: .flush) { log.add($1) }
        let paced = PacedQueue<Int>(1, per: .zero, capacity: 9, on: thread.loop, whenReleased: .flush) { log.add($0) }
        try occupied(thread) {
            thread.perform {
                keyed(2, for: 2)
                log.add(-1)
                #expect(!all.flushAll())
                log.add(-2)
                #expect(!paced.flush())
                log.add(-3)
            }
            thread.stop()
            #expect(keyed(1, for: 1) && all(3, for: 1) && paced(4) == .accepted && paced.flush())
        }
        thread.join()
        #expect(log.entries == [1, 2, -1, 3, -2, 4, -3])
    }

    @Test("What was due before a limiter had a handler is not lost to a stopping thread", arguments: [false, true])
    func handlerOnStoppingThread(flushes: Bool) throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let log = Log<Int>()
        let release = flushes ? RateLimitRelease.flush : .discard
        let limiter = Throttle<Int>(interval: .seconds(1), on: thread.loop, whenReleased: release)
        let keyed = KeyedThrottle<Int, Int>(interval: .seconds(1), on: thread.loop, whenReleased: release)
        limiter(1)
        keyed(2, for: 1)
        try occupied(thread) {
            thread.perform {
                #expect(limiter.setHandler { log.add($0) } && keyed.setHandler { log.add($1) })
                #expect(log.entries == [], "not inside the call")
            }
            thread.stop()
        }
        thread.join()
        #expect(log.entries == [1, 2])
    }

    @Test("invalidate drops the actions that a stopping thread still has to perform")
    func invalidateWhileStopping() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let log = Log<Int>()
        let limiter = Throttle<Int>(interval: .zero, on: thread.loop, whenReleased: .flush) { log.add($0) }
        try occupied(thread) {
            #expect(limiter(1))
            thread.stop()
            #expect(limiter(2))
            limiter.invalidate()
        }
        thread.join()
        #expect(log.entries == [])
    }

    @Test("Dropping a flushing limiter while its thread ends makes exactly one action")
    func dropWhileThreadEnds() throws {
        for _ in 0..<100 {
            let clock = VirtualClock(.manual)
            let (thread, other) = (try LoopThread(clock: clock), try LoopThread())
            let log = Log<Int>()
            let box = Box<Debounce<Int>>()
            box.value = Debounce(interval: .seconds(1), on: thread.loop, whenReleased: .flush) { log.add($0) }
            box.value!(1)
            let go = Gate()
            other.perform {
                go.wait()
                box.value = nil
            }
            go.open()
            thread.stop()
            thread.join()
            try other.performAndWait {}
            #expect(log.entries == [1])
        }
    }

    @Test("The end of a loop releases the action")
    func loopEndReleasesAction() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        weak var captured: Count?
        let limiter: Throttle<Int>
        do {
            let count = Count()
            captured = count
            limiter = Throttle(interval: .seconds(1), on: thread.loop) { _ in count.up() }
        }
        #expect(captured != nil)
        thread.stop()
        thread.join()
        #expect(captured == nil && !limiter(1))
    }

    @Test("An input's deinit may call the limiter")
    func inputDeinitCalls() {
        final class Caller: Sendable {
            let goes: @Sendable () -> Void
            init(_ goes: @escaping @Sendable () -> Void) { self.goes = goes }
            deinit { goes() }
        }
        let (loop, _) = Loop.inVirtualTime()
        let goes = Count()
        let limiter = Debounce<Caller>(interval: .seconds(1), on: loop) { _ in }
        let keyed = KeyedDebounce<Int, Caller>(interval: .seconds(1), on: loop) { _, _ in }
        let make: @Sendable () -> Caller = {
            Caller {
                goes.up()
                _ = limiter.isPending
                _ = keyed.isPending(1)
            }
        }
        for end in [{ _ = limiter.flush() }, { limiter.cancel() }, { limiter.invalidate() }] {
            limiter(make())
            limiter(make())
            end()
        }
        for end in [{ _ = keyed.flush(1) }, { keyed.cancel(1) }, { keyed.cancelAll() }, { keyed.invalidate() }] {
            keyed(make(), for: 1)
            keyed(make(), for: 1)
            end()
        }
        #expect(goes.value == 14)
    }

    /// Does something while the thread is busy with a block.
    private func occupied(
        _ thread: LoopThread, _ body: () -> Void, atTheEnd end: @escaping @Sendable () -> Void = {}
    ) throws {
        let (began, go) = (Gate(), Gate())
        thread.perform {
            began.open()
            go.wait()
            end()
        }
        began.wait()
        body()
        go.open()
    }
}
