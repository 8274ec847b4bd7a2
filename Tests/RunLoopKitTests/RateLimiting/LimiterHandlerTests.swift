import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Actions that limiters get after they were made.
@Suite(.timeBound) struct LimiterHandlerTests {
    private typealias Entry = RateLimitEntry
    private typealias Scene = RateLimitScene

    @Test("What is due before a throttle has an action waits, and the last input gets it in one call")
    func throttle() {
        let scene = Scene()
        let limiter = Throttle<Int>(interval: .milliseconds(100), on: scene.loop)
        for time: Int64 in [0, 10, 150, 160, 500] { scene.at(time) { limiter(Int(time)) } }
        scene.at(200) {
            #expect(limiter.isPending)
            #expect(limiter.description.contains("No handler is set."))
            #expect(limiter.setHandler(scene.write))
            #expect(scene.log.entries == [], "not inside the call")
        }
        scene.run()
        #expect(scene.log.entries == [Entry(200, 150), Entry(500, 500)])
        #expect(!limiter.isPending)
    }

    @Test("A pending call is acted on when it is due, with the action that was set meanwhile")
    func debounce() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .milliseconds(100), on: scene.loop)
        scene.at(0) { limiter(1) }
        scene.at(50) { limiter.setHandler(scene.write) }
        scene.run()
        #expect(scene.log.entries == [Entry(100, 1)])
    }

    @Test("A burst that is over before the debounce has an action is acted on at once")
    func lateDebounce() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .milliseconds(100), on: scene.loop)
        for time: Int64 in [0, 50, 300] { scene.at(time) { limiter(Int(time)) } }
        scene.at(1000) { limiter.setHandler(scene.write) }
        scene.run()
        #expect(scene.log.entries == [Entry(1000, 300)])
    }

    @Test("No timer runs while what is due waits for an action")
    func noWakeUps() {
        let scene = Scene()
        let limiter = Debounce<Int>(interval: .milliseconds(100), on: scene.loop)
        scene.loop.add(Loop.Timer(after: .seconds(100)) { _ in })
        limiter(1)
        #expect(scene.loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        let before = scene.loop.counters
        #expect(scene.loop.run(mode: .default, for: .seconds(10)) == .timedOut)
        #expect(scene.loop.counters.since(before).passes == 1)
        limiter.setHandler(scene.write)
        scene.loop.run(mode: .default, for: .zero)
        #expect(scene.log.entries == [Entry(11_000, 1)])
    }

    @Test("A limiter that collects or merges keeps all inputs, of several actions too")
    func keepingAll() {
        let scene = Scene()
        let log = Log<[Int]>()
        let collecting = Debounce<Int>.collecting(interval: .milliseconds(100), on: scene.loop)
        let each = Debounce<Int>.collecting(interval: .milliseconds(100), on: scene.loop)
        let merging = Debounce<Int>(interval: .milliseconds(100), on: scene.loop, merging: +)
        let alone = Debounce<Int>(interval: .milliseconds(100), on: scene.loop)
        for time: Int64 in [0, 10, 500, 510] {
            scene.at(time) { for limiter in [collecting, each, merging, alone] { limiter(Int(time) + 1) } }
        }
        scene.at(1000) {
            collecting.setHandler(collecting: { log.add($0) })
            each.setHandler { log.add([$0]) }
            merging.setHandler { log.add([$0]) }
            alone.setHandler(collecting: { log.add($0) })
        }
        scene.at(2000) { for limiter in [collecting, each, merging, alone] { [1, 2].forEach { limiter($0) } } }
        scene.run()
        let late = [[1, 11, 501, 511], [1], [11], [501], [511], [1024], [511]]
        #expect(log.entries == late + [[1, 2], [1], [2], [3], [2]])
    }

    @Test("A new action counts from the next one that falls due, and the old one is released")
    func replacing() {
        let scene = Scene()
        let log = Log<String>()
        let released = Count()
        let limiter = Throttle<Int>(interval: .milliseconds(100), edges: [.leading, .trailing], on: scene.loop)
        do {
            let captured = Captured(released)
            limiter.setHandler { log.add("old \($0), released \(captured.released.value)") }
        }
        scene.at(0) {
            limiter(1)
            limiter(2)
            limiter.setHandler { input in
                limiter.setHandler { log.add("third \($0)") }
                log.add("new \(input)")
            }
            #expect(released.value == 1)
        }
        scene.at(150) { limiter(3) }
        scene.run()
        #expect(log.entries == ["old 1, released 0", "new 2", "third 3"])
        limiter.invalidate()
        let isSet = limiter.setHandler { log.add("\($0)") }
        #expect(!isSet)
    }

    @Test("Without an action, cancel drops what waits, and so do the limiter and its loop at their end")
    func dropping() {
        final class Input: Sendable {
            let released: Count
            init(_ released: Count) { self.released = released }
            deinit {
                Lock.assertNoneHeld()
                released.up()
            }
        }
        let scene = Scene()
        let released = Count()
        var limiter: Throttle<Input>? = Throttle(interval: .seconds(1), on: scene.loop, whenReleased: .flush)
        limiter!(Input(released))
        #expect(limiter!.isPending)
        limiter!.cancel()
        #expect(!limiter!.isPending && released.value == 1)
        limiter!(Input(released))
        limiter!(Input(released))
        #expect(released.value == 2)
        limiter = nil
        #expect(released.value == 3)
        let kept = Debounce<Input>(interval: .zero, on: scene.loop, whenReleased: .flush)
        kept(Input(released))
        #expect(kept.flush())
        kept(Input(released))
        scene.loop.end()
        #expect(released.value == 5)
        let isSet = kept.setHandler { _ in }
        #expect(!isSet)
    }

    @Test("Each key waits for itself, in the order in which the keys fell due")
    func keys() {
        let scene = Scene()
        let log = Log<String>()
        let limiter = KeyedDebounce<String, Int>(interval: .milliseconds(100), on: scene.loop)
        let merging = KeyedThrottle<String, Int>(interval: .milliseconds(100), on: scene.loop, merging: +)
        let collecting = KeyedThrottle<String, Int>.collecting(interval: .milliseconds(100), on: scene.loop)
        for (time, key) in [(0, "b"), (10, "a"), (300, "b"), (300, "c")] as [(Int64, String)] {
            scene.at(time) { for limiter in [limiter, merging, collecting] { limiter(Int(time), for: key) } }
        }
        scene.at(1000) {
            #expect(limiter.isPending("a") && Set(limiter.pendingKeys) == ["a", "b", "c"])
            limiter.cancel("c")
            limiter.setHandler { log.add("\($0)\($1)") }
            merging.setHandler { log.add("\($0)\($1)") }
            collecting.setHandler(collecting: { log.add("\($0)\($1)") })
        }
        scene.at(2000) { limiter(7, for: "a") }
        scene.run()
        #expect(log.entries == ["b300", "a10", "b300", "a10", "c300", "b[0, 300]", "a[10]", "c[300]", "a7"])
        limiter.invalidate()
        let isSet = limiter.setHandler { _, _ in }
        #expect(!isSet)
    }

    @Test("A key that waits for an action is found without a look at the others")
    func costOfWaitingKeys() {
        struct Key: Hashable, Sendable {
            let number: Int
            let comparisons: Count
            func hash(into hasher: inout Hasher) { hasher.combine(number) }
            static func == (key: Key, other: Key) -> Bool {
                key.comparisons.up()
                return key.number == other.number
            }
        }
        let scene = Scene()
        let comparisons = Count()
        let limiter = KeyedThrottle<Key, Int>(interval: .zero, on: scene.loop)
        let keys = (0..<1000).map { Key(number: $0, comparisons: comparisons) }
        for key in keys { limiter(1, for: key) }
        for key in keys.reversed().dropLast() { limiter.cancel(key) }
        #expect(limiter.pendingKeys == [keys[0]])
        // Some of keys whose hash values are alike.
        #expect(comparisons.value < 20_000)
    }

    @Test("All keys that are flushed without an action wait for it")
    func flushedKeys() {
        let scene = Scene()
        let log = Log<Int>()
        let limiter = KeyedDebounce<Int, Int>(interval: .seconds(1), on: scene.loop)
        for key in 0..<200 { limiter(key, for: key) }
        #expect(limiter.flushAll())
        #expect(!limiter.flushAll())
        limiter.cancelAll()
        for key in 0..<200 { limiter(key, for: key) }
        #expect(limiter.flush(7))
        #expect(limiter.flushAll())
        limiter.setHandler { log.add($0 == $1 ? $0 : -1) }
        scene.run()
        #expect(log.entries.sorted() == Array(0..<200))
        #expect(log.entries.first == 7)
    }

    @Test("An asynchronous limiter begins with the latest call that waits for its action, and answers the others nil")
    func asynchronous() async throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let limiter = AsyncLimiter<Int, Int>.debounce(interval: .seconds(1), on: thread.loop)
        let first = limiter.call(1)
        #expect(limiter.flush())
        let second = limiter.call(2)
        #expect(limiter.flush())
        #expect(try await first.value == nil)
        let isSet = limiter.setHandler { $0 * 10 }
        #expect(isSet)
        #expect(try await second.value == 20)
        let isReplaced = limiter.setHandler { $0 * 100 }
        #expect(isReplaced)
        let third = limiter.call(3)
        #expect(limiter.flush())
        #expect(try await third.value == 300)
        limiter.invalidate()
        let isSetAtLast = limiter.setHandler { $0 }
        #expect(!isSetAtLast)
        let unset = AsyncLimiter<Int, Int>.throttle(interval: .zero, on: thread.loop)
        let waiting = unset.call(1)
        unset.invalidate()
        #expect(try await waiting.value == nil)
        thread.stop()
    }

    /// An object whose limiter's action captures it.
    private final class Document: Sendable {
        let save: Debounce<String>
        let log = Log<String>()

        init(on loop: Loop) {
            save = Debounce(interval: .seconds(1), on: loop)
            save.setHandler { [weak self] in self?.log.add($0) }
        }
    }

    @Test("An object makes its limiter in its init, with an action that captures it")
    func owner() {
        let scene = Scene()
        let document = Document(on: scene.loop)
        document.save("a")
        document.save("b")
        scene.run()
        #expect(document.log.entries == ["b"])
    }

    @Test("A call from any thread, as the action is set, is acted on once")
    func threads() throws {
        for _ in 0..<100 {
            let thread = try LoopThread()
            let log = Log<Int>()
            let limiter = Throttle<Int>.collecting(interval: .zero, on: thread.loop)
            let caller = try System.startThread(stackSize: nil) { for number in 0..<20 { limiter(number) } }
            limiter.setHandler { log.add($0) }
            System.join(caller)
            limiter.flush()
            spin(until: log.entries.count == 20)
            #expect(log.entries == Array(0..<20))
            thread.stop()
        }
    }

    // MARK: A paced queue

    @Test("Inputs of a paced queue wait for its action without a timer, take no tokens, and then come at the rate")
    func pacedQueue() {
        let scene = Scene()
        let queue = PacedQueue<Int>(10, per: .seconds(1), burst: 2, capacity: 4, on: scene.loop)
        scene.at(0) { #expect((1...5).map { queue($0) } == [.accepted, .accepted, .accepted, .accepted, .full]) }
        scene.at(990) {
            #expect(!queue.flush() && queue.waitingCount == 4)
            let state = "PacedQueue: 10 per 1.0 seconds, burst 2, 4 wait. No handler is set. No timer runs."
            #expect(queue.description == state)
        }
        scene.at(1000) {
            let before = scene.loop.counters
            #expect(queue.setHandler(scene.write))
            #expect(scene.log.entries == [], "not inside the call")
            #expect(scene.loop.counters.since(before).passes == 0)
        }
        scene.at(1350) { #expect(queue(6) == .accepted) }
        scene.run()
        let entries = [(1000, 1), (1000, 2), (1100, 3), (1200, 4), (1350, 6)].map { Entry($0.0, $0.1) }
        #expect(scene.log.entries == entries)
    }

    @Test("A paced queue's new action gets what comes from now on, and the old one is released")
    func replacingOfPacedQueue() {
        let scene = Scene()
        let log = Log<String>()
        let released = Count()
        let queue = PacedQueue<Int>(10, per: .seconds(1), capacity: 9, on: scene.loop)
        do {
            let captured = Captured(released)
            queue.setHandler { log.add("old \($0), released \(captured.released.value)") }
        }
        scene.at(0) {
            for input in 1...4 { #expect(queue(input) == .accepted) }
            queue.setHandler { input in
                let isSet = queue.setHandler { log.add("third \($0)") }
                log.add("new \(input), \(isSet)")
            }
            #expect(released.value == 1)
        }
        scene.at(250) { queue.flush() }
        scene.run()
        #expect(log.entries == ["old 1, released 0", "new 2, true", "third 3", "third 4"])
        queue.invalidate()
        let isSet = queue.setHandler { log.add("\($0)") }
        #expect(!isSet)
    }

    @Test("Without an action, cancel, the end of a paced queue and that of its loop drop what waits")
    func droppingOfPacedQueue() {
        let scene = Scene()
        let released = Count()
        var queue: PacedQueue<Captured>? = PacedQueue(
            1, per: .seconds(1), capacity: 9, on: scene.loop, whenReleased: .flush)
        #expect(queue!(Captured(released)) == .accepted)
        queue!.cancel()
        #expect(queue!.waitingCount == 0 && released.value == 1)
        #expect(queue!(Captured(released)) == .accepted)
        queue = nil
        #expect(released.value == 2)
        let kept = PacedQueue<Captured>(1, per: .seconds(1), capacity: 9, on: scene.loop, whenReleased: .flush)
        #expect(kept(Captured(released)) == .accepted)
        scene.loop.end()
        #expect(released.value == 3 && kept(Captured(released)) == .closed)
        let isSet = kept.setHandler { _ in }
        #expect(!isSet)
    }

    @Test("Calls of a thread, as a paced queue gets its actions, are acted on once and in order")
    func threadsOfPacedQueue() throws {
        for _ in 0..<100 {
            let thread = try LoopThread()
            let log = Log<Int>()
            let queue = PacedQueue<Int>(1, per: .zero, capacity: 100, on: thread.loop)
            let caller = try System.startThread(stackSize: nil) {
                for number in 0..<20 where queue(number) != .accepted { log.add(-1) }
            }
            for _ in 0..<3 { queue.setHandler { log.add($0) } }
            System.join(caller)
            spin(until: log.entries.count == 20)
            #expect(log.entries == Array(0..<20))
            withExtendedLifetime(thread) {}
        }
    }

    @Test("A limiter merges again after a handler that got all inputs", arguments: [false, true])
    func mergesAfterCollecting(_ hasHandler: Bool) {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<[Int]>()
        let limiter = Debounce<Int>(interval: .seconds(1), on: loop, merging: +)
        let keyed = KeyedDebounce<Int, Int>(interval: .seconds(1), on: loop, merging: +)
        if hasHandler {
            limiter.setHandler { log.add([$0]) }
            keyed.setHandler { log.add([$0, $1]) }
        }
        func burst(_ inputs: [Int]) {
            for input in inputs {
                limiter(input)
                keyed(input, for: 9)
            }
            clock.advance(by: .seconds(1))
        }
        limiter.setHandler(collecting: { log.add($0) })
        keyed.setHandler(collecting: { log.add([$0] + $1) })
        burst([1, 2])
        limiter.setHandler { log.add([$0]) }
        keyed.setHandler { log.add([$0, $1]) }
        burst([3, 4])
        #expect(log.entries == [[1, 2], [9, 1, 2], [7], [9, 7]])
    }
}
