import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// One limiter, many keys.
@Suite(.timeBound) struct RateLimitingKeyedTests {
    @Test("Keys are independent")
    func independentKeys() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<String>()
        let limiter = KeyedThrottle<String, Int>(
            interval: .seconds(10), edges: [.leading, .trailing], on: loop
        ) { log.add("\($0)\($1)") }
        limiter(1, for: "a")
        limiter(2, for: "a")
        clock.advance(by: .seconds(4))
        limiter(3, for: "b")
        limiter(4, for: "b")
        #expect(log.entries == ["a1", "b3"] && limiter.isPending("a") && !limiter.isPending("c"))
        clock.advance(by: .seconds(6))
        #expect(log.entries == ["a1", "b3", "a2"] && !limiter.isPending("a"))
        clock.advance(by: .seconds(4))
        #expect(log.entries == ["a1", "b3", "a2", "b4"])
        clock.advance(by: .seconds(100))
        #expect(limiter.keyCount == 0)
    }

    /// The same calls, through a limiter for each key and through a keyed one.
    @Test("Each key behaves like a limiter of its own")
    func keyLikeLimiter() {
        for seed in 0..<programCount(100) {
            var random = SplitMix(seed)
            let edges = RateLimitEdges(rawValue: UInt8(1 + random.next() % 3))
            let (loop, clock) = Loop.inVirtualTime(.manual)
            let (single, keyed) = (Log<[Int]>(), Log<[Int]>())
            let now: @Sendable () -> Int = { Int(clock.now.nanoseconds) }
            let limiters: [Debounce<Int>] = (0..<3).map { key in
                Debounce(interval: .nanoseconds(20), edges: edges, maxWait: .nanoseconds(50), on: loop) {
                    single.add([now(), key, $0])
                }
            }
            let limiter = KeyedDebounce<Int, Int>(
                interval: .nanoseconds(20), edges: edges, maxWait: .nanoseconds(50), on: loop
            ) { keyed.add([now(), $0, $1]) }
            for input in 0..<100 {
                clock.advance(by: .nanoseconds(Int64(random.next() % 9)))
                let key = Int(random.next() % 3)
                switch random.next() % 20 {
                case 0:
                    limiters[key].cancel()
                    limiter.cancel(key)
                case 1:
                    #expect(limiters[key].flush() == limiter.flush(key))
                default:
                    limiters[key](input)
                    limiter(input, for: key)
                }
                #expect(limiter.pendingKeys.sorted() == (0..<3).filter { limiters[$0].isPending })
            }
            clock.advance(by: .seconds(1))
            let inOrder: ([Int], [Int]) -> Bool = { $0.lexicographicallyPrecedes($1) }
            #expect(single.entries.sorted(by: inOrder) == keyed.entries.sorted(by: inOrder))
            #expect(limiter.keyCount == 0 && !single.entries.isEmpty)
        }
    }

    @Test("Quiet keys are forgotten")
    func quietKeys() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let calls = Count()
        let limiter = KeyedDebounce<Int, Int>(interval: .seconds(1), on: loop) { _, _ in calls.up() }
        for key in 0..<20_000 { limiter(0, for: key) }
        #expect(limiter.keyCount == 20_000)
        clock.advance(by: .seconds(1))
        #expect(limiter.keyCount == 0 && calls.value == 20_000)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
    }

    @Test("A key is remembered as long as it matters")
    func keyIsRemembered() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<Int>()
        let limiter = KeyedThrottle<Int, Int>(interval: .seconds(10), edges: [.leading, .trailing], on: loop) {
            log.add($1)
        }
        limiter(1, for: 1)
        limiter(2, for: 1)
        clock.advance(by: .seconds(10))
        // It has just acted on the trailing edge: another interval.
        #expect(log.entries == [1, 2] && limiter.keyCount == 1)
        limiter(3, for: 1)
        #expect(log.entries == [1, 2])
        clock.advance(by: .seconds(10))
        #expect(log.entries == [1, 2, 3])
        clock.advance(by: .seconds(10))
        #expect(limiter.keyCount == 0)
    }

    @Test("A throttle for each key that merges loses nothing by default")
    func mergingThrottle() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<[Int]>()
        let limiter = KeyedThrottle<Int, Int>(interval: .seconds(1), on: loop, merging: { $0 * 10 + $1 }) {
            log.add([$0, $1])
        }
        for input in 1...3 { limiter(input, for: 1) }
        clock.advance(by: .seconds(1))
        #expect(log.entries == [[1, 1], [1, 23]])
    }

    @Test("flushAll, cancelAll, merging and release serve all keys")
    func allKeys() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<[Int]>()
        do {
            let limiter = KeyedDebounce<Int, Int>(
                interval: .seconds(1), on: loop, whenReleased: .flush, merging: { $0 * 10 + $1 }
            ) { log.add([$0, $1]) }
            for key in 1...2 { for input in 1...3 { limiter(input, for: key) } }
            #expect(limiter.flushAll() && !limiter.flushAll())
            #expect(log.entries.sorted { $0[0] < $1[0] } == [[1, 123], [2, 123]])
            limiter(7, for: 1)
            limiter.cancelAll()
            #expect(!limiter.isPending(1) && limiter.keyCount == 0)
            limiter(8, for: 3)
        }
        #expect(log.entries.last == [3, 8] && log.entries.count == 3)
        clock.advance(by: .seconds(10))
        #expect(log.entries.count == 3)
    }

    @Test("collecting delivers an array for each key")
    func collectingArrayPerKey() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<[String]>()
        let throttle = KeyedThrottle<String, Int>.collecting(interval: .seconds(1), on: loop) { key, inputs in
            log.add([key] + inputs.map(String.init))
        }
        let debounce = KeyedDebounce<String, Int>.collecting(interval: .seconds(2), on: loop) { key, inputs in
            log.add(["debounced", key] + inputs.map(String.init))
        }
        for input in 1...5 {
            let key = input % 2 == 0 ? "even" : "odd"
            throttle(input, for: key)
            debounce(input, for: key)
        }
        #expect(log.entries == [["odd", "1"], ["even", "2"]])
        clock.advance(by: .seconds(10))
        let inOrder = log.entries.dropFirst(2).sorted { $0.lexicographicallyPrecedes($1) }
        #expect(
            inOrder == [
                ["debounced", "even", "2", "4"], ["debounced", "odd", "1", "3", "5"], ["even", "4"], ["odd", "3", "5"],
            ])
        #expect(throttle.keyCount == 0 && debounce.keyCount == 0)
    }

    @Test("A limiter without input can be called")
    func withoutInput() {
        let (loop, _) = Loop.inVirtualTime(.manual)
        let log = Log<String>()
        let limiter = KeyedThrottle<String, Void>(interval: .seconds(1), on: loop) { key, _ in log.add(key) }
        limiter(for: "a")
        limiter(for: "b")
        limiter(for: "a")
        #expect(log.entries == ["a", "b"])
    }

    @Test("An action may cancel another key that is due")
    func actionCancelsDueKey() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<Int>()
        let box = Box<KeyedDebounce<Int, Void>>()
        box.value = KeyedDebounce(interval: .seconds(1), on: loop) { key, _ in
            log.add(key)
            box.value!.cancel(1 - key)
        }
        for key in 0...1 { box.value!(for: key) }
        clock.advance(by: .seconds(5))
        #expect(log.entries.count == 1 && box.value!.keyCount == 0)
        box.value = nil
    }

    @Test("With a zero interval an action can call its limiter")
    func callInActionWithZeroInterval() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let box = Box<KeyedDebounce<Int, Int>>()
        box.value = KeyedDebounce(interval: .zero, on: loop) { key, input in
            log.add(input)
            if input < 5 { box.value!(input + 1, for: key) }
        }
        box.value!(1, for: 1)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == [1, 2, 3, 4, 5])
        box.value!.invalidate()
        #expect(!box.value!(1, for: 1) && !box.value!.flush(1) && box.value!.keyCount == 0)
        box.value = nil
    }

    @Test("The end of the loop discards or flushes")
    func loopEnd() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let limiter = KeyedDebounce<Int, Int>(interval: .seconds(1), on: loop, whenReleased: .flush) { log.add($1) }
        limiter(4, for: 1)
        loop.end()
        #expect(log.entries == [4] && !limiter(1, for: 1) && limiter.keyCount == 0)
        let none = KeyedThrottle<Int, Int>(interval: .zero, edges: [], on: loop) { log.add($1) }
        #expect(!none(1, for: 1))
    }
}
