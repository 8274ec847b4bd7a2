import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Actions, inputs, keys and captures that call the limiter, end it, or run or end its loop while it is at work.
@Suite(.timeBound) struct RateLimitingReentrancyTests {
    private typealias Scene = RateLimitScene

    /// Calls a closure in its `deinit`.
    private final class Caller: Hashable, Sendable {
        let number: Int
        let goes: @Sendable () -> Void

        init(_ number: Int = 0, _ goes: @escaping @Sendable () -> Void) { (self.number, self.goes) = (number, goes) }
        deinit { goes() }

        static func == (left: Caller, right: Caller) -> Bool { left.number == right.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    // MARK: The action and the loop

    @Test("An action may run the loop nested, which serves what is due")
    func actionRunsLoop() {
        let scene = Scene()
        let box = Box<Debounce<Int>>()
        box.value = Debounce(interval: .milliseconds(10), on: scene.loop) { input in
            scene.write(input)
            guard input == 1 else { return }
            box.value!(2)
            scene.loop.run(mode: .default, for: .milliseconds(50))
            scene.write(-1)
        }
        box.value!(1)
        scene.run()
        #expect(scene.log.entries == [.init(10, 1), .init(20, 2), .init(60, -1)])
        box.value = nil
    }

    @Test("A key's action may run the loop nested, which serves the other keys once")
    func keyActionRunsLoop() {
        let scene = Scene()
        let limiter = KeyedDebounce<Int, Int>(interval: .milliseconds(10), on: scene.loop) { key, input in
            scene.write(input)
            if key == 0 { scene.loop.run(mode: .default, for: .milliseconds(50)) }
            scene.write(-input)
        }
        // The first key is due first.
        limiter(100, for: 0)
        scene.at(0) { for key in 1...3 { limiter(100 + key, for: key) } }
        scene.run()
        let inputs = scene.log.entries.map(\.input)
        #expect(inputs.sorted() == [-103, -102, -101, -100, 100, 101, 102, 103])
        #expect(inputs.first == 100 && inputs.last == -100 && limiter.keyCount == 0)
    }

    @Test("An action may stop its thread")
    func actionStopsThread() throws {
        for (release, expected) in [(RateLimitRelease.discard, [1]), (.flush, [1, 2])] {
            let thread = try LoopThread(clock: VirtualClock())
            let log = Log<Int>()
            let box = Box<Debounce<Int>>()
            box.value = Debounce(interval: .seconds(1), on: thread.loop, whenReleased: release) { input in
                log.add(input)
                guard input == 1 else { return }
                thread.stop()
                box.value!(2)
            }
            box.value!(1)
            thread.join()
            #expect(log.entries == expected && !box.value!(3))
            box.value = nil
        }
    }

    @Test("An action at the loop's end may call its limiter, which refuses")
    func callAtLoopEnd() {
        let (loop, _) = Loop.inVirtualTime()
        let answers = Log<Bool>()
        let box = Box<Debounce<Int>>()
        box.value = Debounce(interval: .seconds(1), on: loop, whenReleased: .flush) { _ in
            answers.add(box.value!(2))
            answers.add(box.value!.flush())
        }
        box.value!(1)
        loop.end()
        #expect(answers.entries == [false, false])
        box.value = nil
    }

    @Test("An action may drop, invalidate, flush and cancel its keyed limiter")
    func actionEndsKeyedLimiter() {
        let ways: [@Sendable (Box<KeyedDebounce<Int, Int>>) -> Void] = [
            { $0.value = nil }, { $0.value!.invalidate() }, { $0.value!.cancelAll() }, { $0.value!.flushAll() },
        ]
        for (number, way) in ways.enumerated() {
            let scene = Scene()
            let box = Box<KeyedDebounce<Int, Int>>()
            let isFirst = Count()
            box.value = KeyedDebounce(interval: .milliseconds(10), on: scene.loop) { _, input in
                scene.write(input)
                if isFirst.up() == 1 { way(box) }
            }
            for key in 0..<3 { box.value!(key, for: key) }
            scene.run()
            // Only a flush lets the others act, each once.
            #expect(scene.log.entries.count == (number == 3 ? 3 : 1))
            #expect(Set(scene.log.entries.map(\.input)).count == scene.log.entries.count)
            box.value = nil
        }
    }

    // MARK: Deallocation while the limiter is at work

    @Test("Objects that a limiter releases may call it")
    func releasedObjectsCall() {
        let goes = Count()
        for release in [RateLimitRelease.discard, .flush] {
            let (loop, _) = Loop.inVirtualTime()
            let box = Box<Throttle<Caller>>()
            let make: @Sendable () -> Caller = {
                Caller {
                    goes.up()
                    _ = box.value?.isPending
                    box.value?.flush()
                    box.value?.cancel()
                }
            }
            let captured = make()
            box.value = Throttle(
                interval: .seconds(1), edges: [.leading, .trailing], on: loop, whenReleased: release
            ) { _ in withExtendedLifetime(captured) {} }
            for _ in 1...4 { box.value!(make()) }
            loop.run(mode: .default, for: .seconds(10))
            for _ in 1...4 { box.value!(make()) }
            // With one pending.
            loop.end()
            box.value!(make())
            box.value = nil
        }
        #expect(goes.value == 20)
    }

    @Test("A key's deinit may call the limiter")
    func keyDeinitCalls() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let goes = Count()
        let box = Box<KeyedDebounce<Caller, Int>>()
        let make: @Sendable (Int) -> Caller = { number in
            Caller(number) {
                goes.up()
                _ = box.value?.keyCount
                box.value?.flushAll()
            }
        }
        box.value = KeyedDebounce(interval: .seconds(1), on: loop) { _, _ in }
        for number in 0..<200 { box.value!(1, for: make(number)) }
        clock.advance(by: .seconds(5))
        #expect(goes.value == 200)
        let ends: [@Sendable (KeyedDebounce<Caller, Int>) -> Void] = [
            { $0.flush(make(1)) }, { $0.cancel(make(1)) }, { $0.cancelAll() }, { $0.invalidate() },
        ]
        for end in ends {
            for number in 0..<3 { box.value!(1, for: make(number)) }
            end(box.value!)
            box.value!.cancelAll()
        }
        // Those that flush and cancel with keys of their own make five.
        #expect(goes.value == 200 + 4 * 3 + 2)
        box.value = nil
    }

    @Test("Captured objects may call the limiter in their deinit when it is invalidated")
    func captureDeinitCalls() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Bool>()
        let (box, keyed) = (Box<Debounce<Int>>(), Box<KeyedDebounce<Int, Int>>())
        do {
            let captured = Caller {
                log.add(box.value!(1))
                log.add(keyed.value!(1, for: 1))
            }
            box.value = Debounce(interval: .seconds(1), on: loop) { _ in withExtendedLifetime(captured) {} }
            keyed.value = KeyedDebounce(interval: .seconds(1), on: loop) { _, _ in
                withExtendedLifetime(captured) {}
            }
        }
        box.value!(1)
        keyed.value!(1, for: 1)
        box.value!.invalidate()
        keyed.value!.invalidate()
        #expect(log.entries == [false, false])
        (box.value, keyed.value) = (nil, nil)
    }

    @Test("The loop retains nothing of a deallocated limiter")
    func loopRetainsNothing() {
        let (loop, _) = Loop.inVirtualTime()
        do {
            let debounce = Debounce<Int>(interval: .seconds(1), on: loop) { _ in }
            let keyed = KeyedThrottle<Int, Int>(interval: .seconds(1), on: loop) { _, _ in }
            let invalid = Throttle<Int>(interval: .seconds(1), on: loop) { _ in }
            debounce(1)
            keyed(1, for: 1)
            invalid(1)
            #expect(loop.allEndListeners.count == 3)
            invalid.invalidate()
            #expect(loop.allEndListeners.count == 2)
        }
        #expect(loop.allEndListeners.isEmpty)
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
    }

    // MARK: Order

    @Test("Actions that were handed over run before the timer's")
    func timerKeepsOrderOfHandovers() throws {
        let clock = VirtualClock()
        let thread = try LoopThread(clock: clock)
        let log = Log<Int>()
        let limiter = Debounce<Int>(
            interval: .seconds(1), edges: [.leading, .trailing], on: thread.loop
        ) { log.add($0) }
        let (began, go) = (Gate(), Gate())
        thread.perform {
            began.open()
            go.wait()
            // The time is up with the block that acts on 1 still waiting.
            clock.advance(by: .seconds(2))
            limiter.flush()
        }
        began.wait()
        limiter(1)
        limiter(2)
        go.open()
        try thread.performAndWait {}
        #expect(log.entries == [1, 2])
    }

    @Test("Actions that are handed over meanwhile do not keep a caller on the loop's thread")
    func callerReturns() throws {
        let (thread, helper) = (try LoopThread(clock: VirtualClock(.manual)), try LoopThread())
        let log = Log<Int>()
        let box = Box<Throttle<Int>>()
        box.value = Throttle(interval: .zero, on: thread.loop) { input in
            log.add(input)
            if input < 4 { try! helper.performAndWait { box.value!(input + 1) } }
        }
        try thread.performAndWait {
            box.value!(1)
            log.add(-1)
        }
        spin(until: log.entries.count == 5)
        #expect(log.entries == [1, -1, 2, 3, 4])
        try thread.performAndWait { box.value = nil }
    }

    @Test("A key whose action calls it again does not starve the loop")
    func keyCallingItself() {
        let scene = Scene()
        let box = Box<KeyedDebounce<Int, Int>>()
        box.value = KeyedDebounce(interval: .zero, on: scene.loop) { key, input in
            scene.write(input)
            if input == 1 { scene.loop.perform { scene.write(-1) } }
            if input < 5 { box.value!(input + 1, for: key) }
        }
        box.value!(1, for: 1)
        scene.run()
        let inputs = scene.log.entries.map(\.input)
        #expect(inputs.filter { $0 > 0 } == [1, 2, 3, 4, 5] && inputs.firstIndex(of: -1)! <= 2)
        box.value = nil
    }

    // MARK: Settings

    @Test("Throttles merge")
    func throttlesMerge() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<Int>()
        let throttle = Throttle<Int>(
            interval: .seconds(1), edges: [.leading, .trailing], on: loop, merging: { $0 * 10 + $1 }
        ) { log.add($0) }
        let keyed = KeyedThrottle<Int, Int>(
            interval: .seconds(2), edges: .trailing, on: loop, merging: { $0 * 10 + $1 }
        ) { log.add(-$1) }
        for input in 1...4 {
            throttle(input)
            keyed(input, for: 7)
        }
        clock.advance(by: .seconds(5))
        #expect(log.entries == [1, 234, -1234])
    }

    @Test("A changed interval of a throttle or of keys counts from the next call on")
    func changedIntervalOfKeys() {
        let scene = Scene()
        let throttle = Throttle<Int>(interval: .milliseconds(100), on: scene.loop, action: scene.write)
        let keyed = KeyedDebounce<Int, Int>(interval: .milliseconds(100), on: scene.loop) { scene.write(-$1) }
        scene.at(0) {
            throttle(1)
            keyed(1, for: 1)
        }
        scene.at(10) {
            throttle.interval = .milliseconds(20)
            keyed.interval = .milliseconds(20)
        }
        for time: Int64 in [15, 130, 145, 151] {
            scene.at(time) {
                throttle(Int(time))
                keyed(Int(time), for: 1)
            }
        }
        scene.run()
        #expect(keyed.interval == .milliseconds(20))
        #expect(scene.log.entries.filter { $0.input > 0 } == [.init(0, 1), .init(130, 130), .init(151, 151)])
        #expect(scene.log.entries.filter { $0.input < 0 } == [.init(35, -15), .init(171, -151)])
    }

    @Test("A limiter in the common modes waits while the loop runs in another mode")
    func limiterInCommonModes() {
        let scene = Scene()
        let limiter = Throttle<Int>(interval: .milliseconds(10), on: scene.loop, action: scene.write)
        scene.at(5, in: "other") {
            limiter(1)
            scene.write(-1)
        }
        #expect(scene.loop.run(mode: "other", for: .seconds(1)) == .finished)
        #expect(scene.log.entries == [.init(5, -1)])
        // As in CFRunLoop, a run that begins for a block alone waits for its limit.
        #expect(scene.loop.run(mode: .default, for: .milliseconds(1)) == .timedOut)
        #expect(scene.log.entries == [.init(5, -1), .init(5, 1)])
    }

    @Test("An input that is limited away is not kept")
    func limitedInputIsReleased() {
        let (loop, _) = Loop.inVirtualTime()
        let keyed = KeyedThrottle<Int, Caller>(interval: .seconds(1), on: loop) { _, _ in }
        let single = Throttle<Caller>(interval: .seconds(1), on: loop) { _ in }
        let goes = Count()
        for _ in 1...3 {
            keyed(Caller { goes.up() }, for: 1)
            single(Caller { goes.up() })
        }
        #expect(goes.value == 6)
    }

    @Test("A key whose new burst is shorter is served in time")
    func shorterBurstOfKey() {
        let scene = Scene()
        let limiter = KeyedDebounce<Int, Int>(interval: .milliseconds(100), on: scene.loop) { scene.write($1) }
        limiter(1, for: 1)
        limiter.cancel(1)
        limiter.interval = .milliseconds(10)
        limiter(2, for: 1)
        scene.run()
        #expect(scene.log.entries == [.init(10, 2)] && limiter.keyCount == 0)
    }

    @Test("Bits that stand for no edge are dropped")
    func unknownEdges() {
        let unknown = RateLimitEdges(rawValue: 0b1100)
        let scene = Scene()
        let throttle = Throttle<Int>(interval: .milliseconds(10), edges: unknown, on: scene.loop, action: scene.write)
        let debounce = Debounce<Int>(
            interval: .milliseconds(10), edges: unknown, maxWait: .zero, on: scene.loop, action: scene.write)
        for time in stride(from: Int64(0), to: 100, by: 3) {
            scene.at(time) {
                // Late for the timer.
                scene.clock.advance(by: .milliseconds(11))
                throttle(1)
                debounce(2)
            }
        }
        scene.run()
        #expect(scene.log.entries == [])
    }
}
