import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Throttle and debounce on a loop in virtual time.
@Suite(.timeBound) struct RateLimitingTests {
    private typealias Entry = RateLimitEntry
    private typealias Scene = RateLimitScene

    // MARK: The edges

    @Test("By default a throttle acts on the first call of an interval")
    func throttleDefault() {
        let scene = Scene()
        let limiter = Throttle<Int>(interval: .milliseconds(100), on: scene.loop, action: scene.write)
        for time: Int64 in [0, 10, 99, 120, 130, 400] { scene.at(time) { limiter(Int(time)) } }
        scene.run()
        #expect(scene.log.entries == [Entry(0, 0), Entry(120, 120), Entry(400, 400)])
    }

    @Test("A throttle with both edges also delivers the last input at the end of the interval")
    func throttleWithBothEdges() {
        let scene = Scene()
        let limiter = Throttle<Int>(
            interval: .milliseconds(32), edges: [.leading, .trailing], on: scene.loop, action: scene.write)
        for time: Int64 in [0, 1, 33] { scene.at(time) { limiter(Int(time)) } }
        scene.run()
        #expect(scene.log.entries == [Entry(0, 0), Entry(32, 1), Entry(64, 33)])
    }

    @Test("By default a debounce acts one interval after the last call")
    func debounceDefault() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .milliseconds(100), on: scene.loop, action: scene.write)
        for time: Int64 in [0, 50, 149, 300] { scene.at(time) { limiter(Int(time)) } }
        scene.run()
        #expect(scene.log.entries == [Entry(249, 149), Entry(400, 300)])
    }

    @Test("The longest wait can be changed, and takes effect with the next call")
    func changedMaxWait() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .milliseconds(100), on: scene.loop, action: scene.write)
        #expect(limiter.maxWait == nil)
        for time: Int64 in stride(from: 0, through: 400, by: 50) { scene.at(time) { limiter(Int(time)) } }
        scene.at(120) { limiter.maxWait = .milliseconds(200) }
        scene.at(320) { limiter.maxWait = nil }
        scene.run()
        // Until 120 nothing limits the wait. The call at 200 finds that 200 ms have passed; from 320 on again nothing.
        #expect(scene.log.entries == [Entry(200, 200), Entry(500, 400)])
        limiter.maxWait = .milliseconds(1)
        #expect(limiter.maxWait == .milliseconds(1) && limiter.interval == .milliseconds(100))
    }

    @Test("A debounce with a leading edge acts on the first call")
    func leadingDebounce() {
        let scene = Scene()
        let first = Debounce<Int>(
            interval: .milliseconds(100), edges: .leading, on: scene.loop, action: scene.write)
        let both = Debounce<Int>(interval: .milliseconds(100), edges: [.leading, .trailing], on: scene.loop) {
            scene.write(-$0)
        }
        for time: Int64 in [10, 20, 400] {
            scene.at(time) {
                first(Int(time))
                both(Int(time))
            }
        }
        scene.run()
        let expected: [(Int64, Int)] = [(10, 10), (10, -10), (120, -20), (400, 400), (400, -400)]
        #expect(scene.log.entries == expected.map { Entry($0.0, $0.1) })
    }

    @Test("maxWait bounds a burst")
    func maxWaitBoundsBurst() {
        let scene = Scene()
        let limiter = Debounce<Int>(
            interval: .milliseconds(100), maxWait: .milliseconds(250), on: scene.loop, action: scene.write)
        for time in stride(from: Int64(0), through: 480, by: 60) { scene.at(time) { limiter(Int(time)) } }
        scene.run()
        #expect(scene.log.entries == [Entry(250, 240), Entry(500, 480)])
    }

    @Test("A limiter without input can be called")
    func withoutInput() {
        let scene = Scene()
        let calls = Count()
        let throttle = Throttle<Void>(interval: .seconds(1), on: scene.loop) { calls.up() }
        let debounce = Debounce<Void>(interval: .seconds(1), on: scene.loop) { calls.up() }
        throttle()
        throttle()
        debounce()
        debounce()
        #expect(calls.value == 1)
        scene.run()
        #expect(calls.value == 2)
    }

    @Test("A shorter interval counts from the next call on")
    func shorterInterval() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .seconds(1000), on: scene.loop, action: scene.write)
        let keyed = KeyedDebounce<String, Int>(interval: .seconds(500), on: scene.loop) { _, input in
            scene.write(input)
        }
        limiter(1)
        for key in ["a", "b"] { keyed(2, for: key) }
        limiter.interval = .milliseconds(100)
        keyed.interval = .milliseconds(200)
        limiter(3)
        keyed(4, for: "b")
        scene.run()
        #expect(scene.log.entries == [Entry(100, 3), Entry(200, 4), Entry(500_000, 2)])
    }

    // MARK: Flush, cancel, pending, invalidate

    @Test("flush acts now and stops the timer")
    func flushActsNow() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .milliseconds(100), on: scene.loop, action: scene.write)
        #expect(!limiter.flush())
        limiter(1)
        #expect(limiter.isPending && limiter.flush() && !limiter.isPending && !limiter.flush())
        scene.run()
        #expect(scene.log.entries == [Entry(0, 1)])
        #expect(scene.clock.now == 0)
    }

    @Test("cancel drops the pending call and the burst")
    func cancelDropsBurst() {
        let scene = Scene()
        let limiter = Throttle<Int>(
            interval: .milliseconds(100), edges: [.leading, .trailing], on: scene.loop, action: scene.write)
        limiter(1)
        limiter(2)
        #expect(limiter.isPending)
        limiter.cancel()
        #expect(!limiter.isPending)
        limiter(3)
        #expect(!limiter.isPending)
        scene.run()
        #expect(scene.log.entries == [Entry(0, 1), Entry(0, 3)])
    }

    @Test("isPending is false after firing and without a trailing edge")
    func isPendingAfterFiring() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .milliseconds(100), on: scene.loop, action: scene.write)
        limiter(1)
        scene.run()
        #expect(scene.log.entries == [Entry(100, 1)] && !limiter.isPending)
        let leading = Throttle<Int>(interval: .milliseconds(100), on: scene.loop, action: scene.write)
        leading(1)
        leading(2)
        #expect(!leading.isPending && !leading.flush())
    }

    @Test("isPending is false inside the action")
    func isPendingInAction() {
        let scene = Scene()
        let pending = Log<Bool>()
        let box = Box<Debounce<Int>>()
        box.value = Debounce(interval: .milliseconds(1), on: scene.loop) { _ in
            pending.add(box.value!.isPending)
        }
        box.value!(1)
        scene.run()
        #expect(pending.entries == [false])
        box.value = nil
    }

    @Test("invalidate releases the action and refuses calls")
    func invalidateRefusesCalls() {
        let scene = Scene()
        weak var captured: Count?
        let limiter: Debounce<Int>
        do {
            let count = Count()
            captured = count
            limiter = Debounce(interval: .milliseconds(100), on: scene.loop) { _ in count.up() }
        }
        #expect(limiter(1) && captured != nil)
        limiter.invalidate()
        #expect(captured == nil)
        #expect(!limiter(2) && !limiter.isPending && !limiter.flush())
        limiter.cancel()
        limiter.invalidate()
        #expect(scene.loop.run(mode: .default, for: .seconds(1)) == .finished)
    }

    @Test("invalidate inside the action lets it finish")
    func invalidateInAction() {
        let scene = Scene()
        let box = Box<Throttle<Int>>()
        box.value = Throttle(interval: .zero, on: scene.loop) { input in
            box.value!.invalidate()
            scene.write(input)
        }
        #expect(box.value!(1) && !box.value!(2))
        #expect(scene.log.entries == [Entry(0, 1)])
    }

    @Test("A changed interval takes effect with the next event")
    func changedInterval() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .milliseconds(100), on: scene.loop, action: scene.write)
        scene.at(0) { limiter(1) }
        scene.at(50) { limiter.interval = .milliseconds(300) }
        scene.at(500) { limiter.interval = .milliseconds(10) }
        scene.at(500) { limiter(2) }
        scene.run()
        #expect(scene.log.entries == [Entry(300, 1), Entry(510, 2)])
        #expect(limiter.interval == .milliseconds(10))
    }

    // MARK: Bad input

    @Test("Negative and zero intervals limit nothing")
    func nonpositiveIntervals() {
        let scene = Scene()
        let throttle = Throttle<Int>(interval: .seconds(-1), on: scene.loop, action: scene.write)
        let debounce = Debounce<Int>(interval: .zero, on: scene.loop, action: scene.write)
        #expect(throttle.interval == .zero)
        for input in 1...3 {
            throttle(input)
            debounce(input * 10)
        }
        scene.run()
        #expect(scene.log.entries == [Entry(0, 1), Entry(0, 2), Entry(0, 3), Entry(0, 30)])
    }

    @Test("A huge interval never ends")
    func hugeInterval() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .seconds(Int64.max), on: scene.loop, action: scene.write)
        limiter(1)
        #expect(scene.loop.run(mode: .default, for: .seconds(1_000_000)) == .timedOut)
        #expect(scene.log.entries == [] && limiter.isPending)
        limiter.flush()
        #expect(scene.log.entries.map(\.input) == [1])
    }

    @Test("A maxWait below the interval counts as the interval")
    func shortMaxWait() {
        for maxWait in [Duration.milliseconds(10), .zero, .seconds(-5)] {
            let scene = Scene()
            let limiter = Debounce<Int>(
                interval: .milliseconds(100), maxWait: maxWait, on: scene.loop, action: scene.write)
            for time: Int64 in [0, 60, 120] { scene.at(time) { limiter(Int(time)) } }
            scene.run()
            #expect(scene.log.entries.first == Entry(100, 60))
        }
    }

    @Test("Without edges it never acts")
    func withoutEdges() {
        let scene = Scene()
        let throttle = Throttle<Int>(interval: .milliseconds(10), edges: [], on: scene.loop, action: scene.write)
        let debounce = Debounce<Int>(
            interval: .milliseconds(10), edges: [], maxWait: .zero, on: scene.loop, action: scene.write)
        for time in stride(from: Int64(0), to: 100, by: 3) {
            scene.at(time) { #expect(throttle(1) && debounce(2) && !throttle.flush() && !debounce.isPending) }
        }
        scene.run()
        #expect(scene.log.entries == [])
    }

    @Test("An ended loop refuses calls")
    func endedLoopRefuses() {
        let scene = Scene()
        let early = Debounce<Int>(interval: .milliseconds(1), on: scene.loop, action: scene.write)
        #expect(early(1))
        scene.loop.end()
        let late = Throttle<Int>(interval: .milliseconds(1), on: scene.loop, action: scene.write)
        #expect(!early(2) && !late(1) && !early.isPending && !early.flush())
        #expect(scene.log.entries == [])
    }

    // MARK: Calls from inside the action

    @Test("An action may call its limiter")
    func callsInAction() {
        // The results of lodash's rules, derived by hand: the action calls again, up to the input 3.
        let both: RateLimitEdges = [.leading, .trailing]
        #expect(recursive(.debounce, .trailing) == [Entry(10, 0), Entry(20, 1), Entry(30, 2), Entry(40, 3)])
        #expect(recursive(.debounce, .leading) == [Entry(0, 0)])
        #expect(recursive(.debounce, both) == [Entry(0, 0), Entry(10, 1), Entry(10, 2), Entry(20, 3)])
        #expect(recursive(.throttle, .leading) == [Entry(0, 0)])
        // Here lodash acts twice at 10, which is the second fix.
        #expect(recursive(.throttle, both) == [Entry(0, 0), Entry(10, 1), Entry(20, 2), Entry(30, 3)])
        #expect(recursive(.throttle, .trailing) == [Entry(10, 0), Entry(20, 1), Entry(30, 2), Entry(40, 3)])
        // With a maxWait of one interval a debounce is lodash's throttle, without the fix.
        #expect(recursive(.boundedDebounce, .trailing) == [Entry(10, 0), Entry(20, 1), Entry(30, 2), Entry(40, 3)])
        #expect(recursive(.boundedDebounce, .leading) == [Entry(0, 0)])
        #expect(recursive(.boundedDebounce, both) == [Entry(0, 0), Entry(10, 1), Entry(10, 2), Entry(20, 3)])
    }

    private enum Kind { case throttle, debounce, boundedDebounce }

    private func recursive(_ kind: Kind, _ edges: RateLimitEdges) -> [Entry] {
        let scene = Scene()
        let box = Box<@Sendable (Int) -> Bool>()
        let action: @Sendable (Int) -> Void = { input in
            scene.write(input)
            if input < 3 { _ = box.value!(input + 1) }
        }
        switch kind {
        case .throttle:
            let limiter = Throttle<Int>(
                interval: .milliseconds(10), edges: edges, on: scene.loop, action: action)
            box.value = { limiter($0) }
        case .debounce, .boundedDebounce:
            let limiter = Debounce<Int>(
                interval: .milliseconds(10), edges: edges,
                maxWait: kind == .debounce ? nil : .milliseconds(10), on: scene.loop, action: action)
            box.value = { limiter($0) }
        }
        _ = box.value!(0)
        scene.run()
        box.value = nil
        return scene.log.entries
    }

    @Test("With a zero interval, a call inside a debounce's action is acted on later")
    func callInActionOfZeroDebounce() {
        let scene = Scene()
        let box = Box<Debounce<Int>>()
        box.value = Debounce(interval: .zero, on: scene.loop) { input in
            scene.write(input)
            if input < 3 { box.value!(input + 1) }
        }
        box.value!(1)
        scene.run()
        #expect(scene.log.entries.map(\.input) == [1, 2, 3])
        box.value = nil
    }

    // MARK: Merging

    @Test("Merging delivers everything")
    func mergingDeliversAll() {
        let scene = Scene()
        let sum = Debounce<Int>(
            interval: .milliseconds(10), on: scene.loop, merging: { $0 * 10 + $1 }, action: scene.write)
        for input in 1...5 { sum(input) }
        scene.run()
        sum(7)
        scene.run()
        #expect(scene.log.entries == [Entry(10, 12345), Entry(20, 7)])
    }

    @Test("A throttle that merges loses nothing by default, and without the trailing edge only on request")
    func mergingThrottle() {
        let scene = Scene()
        let sum = Throttle<Int>(
            interval: .milliseconds(10), on: scene.loop, merging: { $0 * 10 + $1 }, action: scene.write)
        for input in 1...5 { sum(input) }
        scene.run()
        #expect(scene.log.entries == [Entry(0, 1), Entry(10, 2345)])
        let first = Throttle<Int>(
            interval: .milliseconds(10), edges: .leading, on: scene.loop, merging: { $0 * 10 + $1 },
            action: scene.write)
        for input in 6...9 { first(input) }
        scene.run()
        #expect(scene.log.entries.map(\.input) == [1, 2345, 6])
        let plain = Throttle<Int>(interval: .milliseconds(10), on: scene.loop, action: scene.write)
        for input in 7...9 { plain(input) }
        scene.run()
        #expect(scene.log.entries.map(\.input) == [1, 2345, 6, 7])
    }

    @Test("collecting delivers an array")
    func collectingArray() {
        let scene = Scene()
        let log = Log<[Int]>()
        let throttle = Throttle<Int>.collecting(interval: .milliseconds(10), on: scene.loop) { log.add($0) }
        let debounce = Debounce<Int>.collecting(interval: .milliseconds(10), on: scene.loop) { log.add($0.map { -$0 }) }
        for input in 1...4 {
            throttle(input)
            debounce(input)
        }
        debounce.flush()
        debounce(5)
        debounce.cancel()
        scene.run()
        #expect(log.entries == [[1], [-1, -2, -3, -4], [2, 3, 4]])
    }

    // MARK: Modes

    @Test("A limiter in the default mode waits while the loop tracks")
    func limiterInDefaultMode() {
        let scene = Scene()
        scene.loop.addCommonMode(.tracking)
        let own = Debounce<Int>(
            interval: .milliseconds(10), on: scene.loop, in: [.default], action: scene.write)
        let common = Debounce<Int>(interval: .milliseconds(10), on: scene.loop) { scene.write(-$0) }
        let leading = Throttle<Int>(interval: .milliseconds(10), on: scene.loop, in: [.default], action: scene.write)
        let commonLeading = Throttle<Int>(interval: .milliseconds(10), on: scene.loop) { scene.write(-$0) }
        scene.at(0, in: .tracking) {
            own(1)
            common(2)
            leading(3)
            commonLeading(4)
        }
        #expect(scene.loop.run(mode: .tracking, for: .milliseconds(100)) == .finished)
        #expect(scene.log.entries == [Entry(0, -4), Entry(10, -2)])
        scene.run()
        // An action that was due long ago runs in the first pass.
        #expect(scene.log.entries.dropFirst(2).map(\.input).sorted() == [1, 3])
        #expect(scene.clock.now == Loop.Instant(nanoseconds: 10_000_000))
    }

    @Test("Outside a run a call on the loop's thread acts at once")
    func callOutsideRun() {
        let scene = Scene()
        let limiter = Throttle<Int>(interval: .zero, on: scene.loop, in: ["other"], action: scene.write)
        limiter(1)
        #expect(scene.log.entries == [Entry(0, 1)])
    }

    @Test("The default loop is the current one")
    func defaultLoop() {
        let scene = Scene()
        let box = Box<Debounce<Int>>()
        scene.at(5) {
            box.value = Debounce(interval: .milliseconds(5), action: scene.write)
            box.value!(1)
        }
        scene.run()
        #expect(scene.log.entries == [Entry(10, 1)])
    }

    @Test("A limiter with nothing to do keeps no run going")
    func idleLimiterKeepsNoRun() {
        let scene = Scene()
        let limiter = Throttle<Int>(interval: .milliseconds(10), on: scene.loop, action: scene.write)
        #expect(scene.loop.run(mode: .default, for: .seconds(1)) == .finished)
        limiter(1)
        #expect(scene.loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(scene.clock.now == Loop.Instant(nanoseconds: 0))
    }

    // MARK: Cost

    @Test("A call inside a burst touches no timer")
    func callInBurstTouchesNoTimer() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .milliseconds(10), on: scene.loop, action: scene.write)
        limiter(0)
        let due = scene.loop.nextTimerFireTime(in: .default)
        let before = scene.loop.counters
        scene.clock.advance(by: .milliseconds(5))
        for input in 1...1000 { limiter(input) }
        #expect(scene.loop.nextTimerFireTime(in: .default) == due && scene.loop.counters == before)
        scene.run()
        #expect(scene.log.entries == [Entry(15, 1000)])
    }
}
