import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Inputs that are let through at a rate.
@Suite(.timeBound) struct PacedQueueTests {
    private func inMilliseconds(_ scene: RateLimitScene, _ pairs: (Int64, Int)...) -> Bool {
        scene.log.entries == pairs.map { RateLimitEntry($0, $1) }
    }

    @Test("Inputs come evenly, in order")
    func evenly() {
        let scene = RateLimitScene()
        let queue = PacedQueue<Int>(50, per: .seconds(1), capacity: 10, on: scene.loop, action: scene.write)
        scene.at(100) { for input in 1...4 { #expect(queue(input) == .accepted) } }
        scene.at(150) { #expect(queue(5) == .accepted) }
        scene.at(1000) { for input in 6...7 { #expect(queue(input) == .accepted) } }
        scene.run()
        #expect(inMilliseconds(scene, (100, 1), (120, 2), (140, 3), (160, 4), (180, 5), (1000, 6), (1020, 7)))
    }

    @Test("A rate between two nanoseconds does not drift")
    func uneven() {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Int64>()
        let queue = PacedQueue<Int>(3, per: .seconds(1), capacity: 10_000, on: loop) { _ in
            log.add(clock.now.nanoseconds)
        }
        let inputs = 0..<9000
        #expect(inputs.allSatisfy { queue($0) == .accepted })
        #expect(loop.run(mode: .default, for: .seconds(10_000)) == .finished)
        let thirds: [Int64] = inputs.map { (Int64($0) * 1_000_000_000 + 2) / 3 }
        #expect(log.entries == thirds)
    }

    @Test("A burst goes at once")
    func burst() {
        let scene = RateLimitScene()
        let queue = PacedQueue<Int>(10, per: .seconds(1), burst: 3, capacity: 9, on: scene.loop, action: scene.write)
        for input in 1...5 { #expect(queue(input) == .accepted) }
        scene.at(250) { #expect(queue.waitingCount == 0 && queue(6) == .accepted) }
        scene.run()
        #expect(inMilliseconds(scene, (0, 1), (0, 2), (0, 3), (100, 4), (200, 5), (300, 6)))
    }

    @Test("A cost beyond the burst delays the next ones")
    func cost() {
        let scene = RateLimitScene()
        let queue = PacedQueue<Int>(1000, per: .seconds(1), capacity: 9, on: scene.loop, action: scene.write)
        for (input, cost) in [(1, 500), (2, 20), (3, 0), (4, -1), (5, 1)] {
            #expect(queue(input, cost: cost) == .accepted)
        }
        scene.run()
        // One token is there at first: 499 are owed after the first one, and one must be there besides.
        #expect(inMilliseconds(scene, (0, 1), (500, 2), (519, 3), (519, 4), (520, 5)))
    }

    @Test("A full queue says so, and keeps what it has accepted")
    func full() {
        let scene = RateLimitScene()
        let queue = PacedQueue<Int>(1, per: .seconds(1), capacity: 2, on: scene.loop, action: scene.write)
        #expect((1...5).map { queue($0) } == [.accepted, .accepted, .accepted, .full, .full])
        #expect(queue.waitingCount == 2)
        scene.at(999, { #expect(queue(6) == .full) })
        scene.at(1001, { #expect(queue(7) == .accepted && queue(8) == .full) })
        scene.run()
        #expect(inMilliseconds(scene, (0, 1), (1000, 2), (2000, 3), (3000, 7)))
        let one = PacedQueue<Int>(1, per: .seconds(1), capacity: -1, on: scene.loop, action: scene.write)
        #expect((1...3).map { one($0) } == [.accepted, .accepted, .full])
    }

    @Test("flush acts on all, and its tokens are owed")
    func flush() {
        let scene = RateLimitScene()
        let queue = PacedQueue<Int>(10, per: .seconds(1), capacity: 9, on: scene.loop, action: scene.write)
        #expect(!queue.flush())
        for input in 1...4 { #expect(queue(input) == .accepted) }
        scene.at(150) {
            #expect(queue.flush() && !queue.flush() && queue.waitingCount == 0)
            #expect(queue(5) == .accepted)
        }
        scene.run()
        // The fourth is due at 300, so the next one at 400.
        #expect(inMilliseconds(scene, (0, 1), (100, 2), (150, 3), (150, 4), (400, 5)))
    }

    @Test("cancel drops what waits, and keeps the rate")
    func cancel() {
        let scene = RateLimitScene()
        let queue = PacedQueue<Int>(10, per: .seconds(1), capacity: 9, on: scene.loop, action: scene.write)
        for input in 1...4 { #expect(queue(input) == .accepted) }
        scene.at(150) {
            queue.cancel()
            #expect(queue.waitingCount == 0 && queue(5) == .accepted)
        }
        scene.run()
        #expect(inMilliseconds(scene, (0, 1), (100, 2), (200, 5)))
    }

    @Test("An invalid queue is closed, and has released its action")
    func invalidate() {
        let scene = RateLimitScene()
        let object = Box<Int>()
        weak let weakObject = object
        func makeQueue(_ object: Box<Int>) -> PacedQueue<Int> {
            PacedQueue<Int>(10, per: .seconds(1), capacity: 9, on: scene.loop) { object.value = $0 }
        }
        let queue = makeQueue(object)
        #expect(queue(1) == .accepted && queue(2) == .accepted && object.value == 1)
        queue.invalidate()
        #expect(queue(3) == .closed && queue.waitingCount == 0 && !queue.flush())
        scene.run()
        #expect(weakObject?.value == 1)
    }

    @Test("At the end what waits is dropped, or acted on", arguments: [RateLimitRelease.discard, .flush])
    func release(release: RateLimitRelease) throws {
        let scene = RateLimitScene()
        var queue: PacedQueue<Int>? = PacedQueue(
            10, per: .seconds(1), capacity: 9, on: scene.loop, whenReleased: release, action: scene.write)
        for input in 1...3 { #expect(queue!(input) == .accepted) }
        queue = nil
        scene.run()
        #expect(scene.log.entries.map(\.input) == (release == .flush ? [1, 2, 3] : [1]))

        let log = Log<Int>()
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let other = PacedQueue<Int>(
            10, per: .seconds(1), capacity: 9, on: thread.loop, whenReleased: release
        ) { log.add($0) }
        for input in 1...3 { #expect(other(input) == .accepted) }
        // The first input's turn has come: the loop acts on it before it is told to stop.
        spin(until: !log.entries.isEmpty)
        thread.stop()
        thread.join()
        #expect(log.entries == (release == .flush ? [1, 2, 3] : [1]))
        #expect(other(4) == .closed)
    }

    @Test("After a time in another mode no more than a burst comes at once")
    func busyLoop() {
        let scene = RateLimitScene()
        let queue = PacedQueue<Int>(
            10, per: .seconds(1), burst: 2, capacity: 99, on: scene.loop, in: [.default], action: scene.write)
        scene.loop.perform(in: "dialog") {
            for input in 1...6 { #expect(queue(input) == .accepted) }
        }
        scene.at(5000, in: "dialog") { scene.loop.stop() }
        scene.loop.run(mode: "dialog", for: .seconds(60))
        #expect(scene.log.entries.isEmpty)
        scene.run()
        #expect(inMilliseconds(scene, (5000, 1), (5000, 2), (5100, 3), (5200, 4), (5300, 5), (5400, 6)))
    }

    @Test("An action may call its queue, flush it and run the loop")
    func reentrancy() {
        let scene = RateLimitScene()
        let box = Box<PacedQueue<Int>>()
        let queue = PacedQueue<Int>(10, per: .seconds(1), capacity: 9, on: scene.loop) { [box, loop = scene.loop] in
            scene.write($0)
            switch $0 {
            case 1: for input in 2...4 { #expect(box.value!(input) == .accepted) }
            case 2: loop.run(mode: .default, for: .milliseconds(150))
            case 3: box.value!.flush()
            default: break
            }
        }
        box.value = queue
        #expect(queue(1) == .accepted)
        scene.run()
        #expect(inMilliseconds(scene, (0, 1), (100, 2), (200, 3), (200, 4)))
        box.value = nil
    }

    @Test("Calls of other threads keep their order and the rate")
    func threads() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let log = Log<(time: Int64, thread: Int, number: Int)>()
        let queue = PacedQueue<(Int, Int)>(1, per: .seconds(1), capacity: 1000, on: thread.loop) { [log] in
            log.add((clock.now.nanoseconds, $0.0, $0.1))
        }
        let pool = try LoopThreadPool(count: 4)
        for index in 0..<4 {
            pool.perform { for number in 0..<50 { #expect(queue((index, number)) == .accepted) } }
        }
        pool.drainAndWait()
        for _ in 0..<250 { clock.advance(by: .seconds(1)) }
        #expect(log.entries.count == 200 && queue.waitingCount == 0)
        for (first, second) in zip(log.entries, log.entries.dropFirst()) {
            #expect(second.time - first.time == 1_000_000_000)
        }
        for index in 0..<4 {
            #expect(log.entries.filter { $0.thread == index }.map(\.number) == Array(0..<50))
        }
    }

    @Test("A flush of another thread comes before later inputs, in portions")
    func flushFromElsewhere() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let log = Log<Int>()
        let queue = PacedQueue<Int>(1, per: .seconds(1), capacity: 1000, on: thread.loop) { [log] in log.add($0) }
        for input in 0..<200 { #expect(queue(input) == .accepted) }
        queue.flush()
        #expect(queue(200) == .accepted)
        clock.advance(by: .seconds(300))
        #expect(log.entries == Array(0...200))
    }

    @Test("Without a period nothing is delayed, without tokens nothing comes")
    func oddRates() {
        let scene = RateLimitScene()
        let fast = PacedQueue<Int>(1, per: .zero, capacity: 1, on: scene.loop, action: scene.write)
        for input in 1...3 { #expect(fast(input, cost: 5) == .accepted) }
        let none = PacedQueue<Int>(0, per: .seconds(1), capacity: 5, on: scene.loop, action: scene.write)
        for input in 4...5 { #expect(none(input) == .accepted) }
        scene.run()
        #expect(inMilliseconds(scene, (0, 1), (0, 2), (0, 3), (0, 4)))
        #expect(none.description == "PacedQueue: 0 per 1.0 seconds, burst 1, 1 wait. No timer runs.")
        none.flush()
        #expect(scene.log.entries.count == 5)
        let empty = PacedQueue<Void>(1, per: .seconds(1), capacity: 1, on: scene.loop) { scene.write(6) }
        #expect(empty() == .accepted && scene.log.entries.count == 6)
        #expect(empty.description == "PacedQueue: 1 per 1.0 seconds, burst 1, none wait")
    }

    // MARK: A law

    private struct Step {
        enum Kind { case call(cost: Int), flush, cancel }
        let time: Int
        let kind: Kind
    }

    /// What each step does, with a level of tokens and a list.
    private struct Model {
        let (tokens, period, burst, capacity): (Int, Int, Int, Int)
        var level: Int
        var time = 0
        var waiting: [(input: Int, cost: Int)] = []
        var acted: [[Int]] = []
        var full: [Int] = []

        init(_ tokens: Int, _ period: Int, _ burst: Int, _ capacity: Int) {
            (self.tokens, self.period, self.burst, self.capacity) = (tokens, period, burst, capacity)
            level = burst * period
        }

        var firstMayGo: Bool { waiting.first.map { min($0.cost, burst) * period <= level } ?? false }

        mutating func actOnFirst() {
            let first = waiting.removeFirst()
            level -= first.cost * period
            acted.append([time, first.input])
        }

        mutating func tick() {
            while firstMayGo { actOnFirst() }
            time += 1
            level += tokens
            if level - burst * period >= min(tokens, period) { level = burst * period }
        }

        mutating func step(_ kind: Step.Kind, _ input: Int) {
            switch kind {
            case .flush: while !waiting.isEmpty { actOnFirst() }
            case .cancel: waiting = []
            case .call(let cost):
                let wasEmpty = waiting.isEmpty
                waiting.append((input, cost))
                if wasEmpty, firstMayGo { return actOnFirst() }
                if waiting.count > capacity {
                    waiting.removeLast()
                    full.append(input)
                }
            }
        }
    }

    @Test("The queue does what a naive one does, in random programs", arguments: 0..<programCount(300))
    func law(seed: UInt64) {
        var random = SplitMix(seed)
        let (tokens, period, burst) = (1 + random.below(4), 1 + random.below(30), 1 + random.below(5))
        let capacity = 1 + random.below(6)
        var time = 0
        let steps = (0..<40).map { _ in
            time += random.below(period + 5)
            switch random.below(20) {
            case 0: return Step(time: time, kind: .flush)
            case 1: return Step(time: time, kind: .cancel)
            default: return Step(time: time, kind: .call(cost: random.below(burst + 4)))
            }
        }
        var model = Model(tokens, period, burst, capacity)
        for (input, step) in steps.enumerated() {
            while model.time < step.time { model.tick() }
            model.step(step.kind, input)
        }
        while !model.waiting.isEmpty { model.tick() }

        let (loop, clock) = Loop.inVirtualTime()
        let (log, full) = (Log<[Int]>(), Log<Int>())
        let queue = PacedQueue<Int>(tokens, per: .nanoseconds(period), burst: burst, capacity: capacity, on: loop) {
            log.add([Int(clock.now.nanoseconds), $0])
        }
        for (input, step) in steps.enumerated() {
            loop.add(
                Loop.Timer(at: Loop.Instant(nanoseconds: Int64(step.time))) { _ in
                    switch step.kind {
                    case .flush: queue.flush()
                    case .cancel: queue.cancel()
                    case .call(let cost): if queue(input, cost: cost) == .full { full.add(input) }
                    }
                })
        }
        #expect(loop.run(mode: .default, for: .seconds(1000)) == .finished)
        let program: Comment = "seed \(seed): \(tokens) in \(period) ns, burst \(burst), capacity \(capacity)"
        #expect(log.entries == model.acted && full.entries == model.full, program)
    }

    @Test("An action that calls its queue is not called inside itself", arguments: [false, true])
    func actionCallsItsQueue(_ runsNested: Bool) {
        let (loop, _) = Loop.inVirtualTime()
        let (box, log) = (Box<PacedQueue<Int>>(), Log<String>())
        let queue = PacedQueue<Int>(10, per: .seconds(1), burst: 3, capacity: 9, on: loop) { [box] input in
            log.add("begin \(input)")
            if input < 3 { #expect(box.value!(input + 1) == .accepted) }
            if runsNested { loop.run(mode: .default, for: .zero) }
            log.add("end \(input)")
        }
        box.value = queue
        #expect(queue(1) == .accepted)
        loop.run(mode: .default, for: .seconds(1))
        let inTurn = ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]
        let nested = ["begin 1", "begin 2", "begin 3", "end 3", "end 2", "end 1"]
        #expect(log.entries == (runsNested ? nested : inTurn))
        box.value = nil
    }
}
