import Foundation
import LoopTestSupport
import TestSupport

@testable import RunLoopDiagnostics
@testable import RunLoopKit
@testable import RunLoopRules

/// A random program whose times are all extreme. It only has to end.
final class ExtremeProgram {
    static let numbers: [Int64] = [
        .min, .min + 1, .min / 2, -1_000_000_000, -1, 0, 1, 1_000_000_000, .max / 2, .max / 2 + 1, .max - 2, .max - 1,
        .max,
    ]

    static let durations: [Duration] =
        numbers.map { .nanoseconds($0) } + [
            .seconds(Int64.min), .seconds(Int64.max), Duration(attoseconds: .min), Duration(attoseconds: .max),
            Duration(attoseconds: 1), Duration(attoseconds: -1), .milliseconds(Int64.max),
        ]

    private let seed: UInt64
    private var random: SplitMix
    private let clock: VirtualClock?
    private let loop: Loop
    private var timers: [Loop.Timer] = []
    private var others: [Any] = []

    init(_ seed: UInt64, isVirtual: Bool) {
        self.seed = seed
        random = SplitMix(seed)
        clock = isVirtual ? Self.clock(&random) : nil
        loop = clock.map { Loop(clock: $0) } ?? .current
    }

    private static func clock(_ random: inout SplitMix) -> VirtualClock {
        let start = Loop.Instant(nanoseconds: numbers[Int(random.next() % UInt64(numbers.count))])
        return VirtualClock(random.next() % 2 == 0 ? .automatic : .manual, startingAt: start)
    }

    private func dice(_ sides: Int) -> Int { Int(random.next() % UInt64(sides)) }
    private var isHeads: Bool { dice(2) == 0 }
    private var number: Int64 { Self.numbers[dice(Self.numbers.count)] }
    private var instant: Loop.Instant { Loop.Instant(nanoseconds: number) }
    var duration: Duration { Self.durations[dice(Self.durations.count)] }
    private var timeBase: Loop.TimeBase { [.suspending, .continuous, .wallClock][dice(3)] }
    private var edges: RateLimitEdges { RateLimitEdges(rawValue: UInt8(1 + dice(3))) }
    private var release: RateLimitRelease { isHeads ? .discard : .flush }

    private func announce() {
        FileHandle.standardError.write(Data("program \(seed), \(clock == nil ? "real" : "virtual") time\n".utf8))
    }

    // MARK: One loop

    func run() {
        announce()
        let tracer = LoopTracer(capacity: 512, clock: clock)
        tracer.attach(to: loop)
        for _ in 0..<25 { step() }
        for timer in timers { _ = (loop.explain(timer).description, timer.description, timer.nextFireTime) }
        _ = (loop.description, loop.nextTimerFireTime(in: .default), Loop.dump)
        let trace = tracer.snapshot()
        _ = (trace.text, trace.chromeTrace, trace.html, trace.findings, trace.handlers)
        tracer.detach()
        for timer in timers { timer.invalidate() }
        others = []
        if clock != nil { loop.end() }
    }

    private func step() {
        switch dice(12) {
        case 0, 1: addTimer()
        case 2: changeTimer()
        case 3: moveTime()
        case 4, 5: runLoop()
        case 6: host()
        case 7, 8: useLimiter()
        case 9: useRules()
        case 10: if isHeads { useState() } else { useQuota() }
        case 11 where isHeads: [endChild, endConnection, endConnections, superviseChild][dice(4)]()
        default:
            loop.spinDuration = duration
            loop.spinDuration = .zero
            if clock == nil { useMainActor() }
        }
    }

    /// Ends after a few calls, so that the shortest interval ends too.
    private func handler() -> @Sendable (Loop.Timer.Firing) -> Void {
        let calls = Count()
        return { firing in
            _ = (firing.missed, firing.scheduledTime)
            calls.up()
            if calls.value > 4 { firing.timer.invalidate() }
        }
    }

    private func addTimer() {
        let interval = isHeads ? duration : nil
        let timer: Loop.Timer =
            switch dice(8) {
            case 0:
                Loop.Timer(
                    after: duration, repeating: interval, tolerance: duration, timeBase: timeBase, handler: handler())
            case 1: Loop.Timer(restartableAfter: duration, tolerance: duration, timeBase: timeBase, handler: handler())
            case 2:
                Loop.Timer(
                    at: instant, repeating: interval, tolerance: duration, timeBase: timeBase, handler: handler())
            case 3: Loop.Timer(every: duration, tolerance: duration, timeBase: timeBase, handler: handler())
            default: isolatedTimer(interval)
            }
        timer.isPrecise = dice(4) == 0
        timers.append(timer)
        let isForThisThread = clock == nil ? !isOfActor(timer) : timer.isolation != .mainActor
        if isForThisThread { loop.add(timer, in: isHeads ? .default : .common) }
    }

    private var isolated: [ObjectIdentifier] = []
    private func isOfActor(_ timer: Loop.Timer) -> Bool { isolated.contains(ObjectIdentifier(timer)) }

    /// Its actor is elsewhere, or gone: only its initializer counts here.
    private func isolatedTimer(_ interval: Duration?) -> Loop.Timer {
        let timer: Loop.Timer =
            switch dice(8) {
            case 0: Loop.Timer(after: duration, repeating: interval, tolerance: duration, isolation: .shared) { _ in }
            case 1: Loop.Timer(restartableAfter: duration, tolerance: duration, isolation: .shared) { _ in }
            case 2: Loop.Timer(at: instant, repeating: interval, tolerance: duration, isolation: .shared) { _ in }
            case 3: Loop.Timer(every: duration, tolerance: duration, isolation: .shared) { _ in }
            case 4: Loop.Timer(after: duration, repeating: interval, isolation: Resident()) { _, _ in }
            case 5: Loop.Timer(restartableAfter: duration, tolerance: duration, isolation: Resident()) { _, _ in }
            case 6: Loop.Timer(at: instant, repeating: interval, isolation: Resident()) { _, _ in }
            default: Loop.Timer(every: duration, tolerance: duration, isolation: Resident()) { _, _ in }
            }
        isolated.append(ObjectIdentifier(timer))
        return timer
    }

    private actor Resident {}

    private func changeTimer() {
        guard let timer = timers.randomElement(using: &random) else { return }
        switch dice(4) {
        case 0: timer.nextFireTime = isHeads ? instant : nil
        case 1: timer.tolerance = duration
        case 2: timer.restart(after: duration)
        default: timer.restart()
        }
    }

    private func moveTime() {
        guard let clock else { return }
        if isHeads { clock.setWallClock(to: instant) } else { clock.advance(by: duration) }
        _ = (clock.now, clock.now(.wallClock), loop.now(.continuous))
    }

    /// A stop bounds the runs that would last in real time.
    private func runLoop() {
        loop.perform { [loop] in loop.stop() }
        let returnAfterSourceHandled = isHeads
        if isHeads {
            loop.run(mode: .default, for: duration, returnAfterSourceHandled: returnAfterSourceHandled)
        } else {
            loop.run(mode: .default, until: instant, returnAfterSourceHandled: returnAfterSourceHandled)
        }
    }

    private func host() {
        guard (try? loop.hosting.begin()) != nil else { return }
        loop.hosting.pass(for: duration)
        _ = loop.hosting.willSleep()
        _ = loop.hosting.timeout
        loop.hosting.didWake()
        loop.hosting.end()
    }

    // MARK: Limiters

    private func useLimiter() {
        let maxWait = isHeads ? duration : nil
        switch dice(8) {
        case 0:
            use(
                isHeads
                    ? Throttle(interval: duration, edges: edges, on: loop, whenReleased: release) { _ in }
                    : Throttle<Int>(interval: duration, edges: edges, on: loop, whenReleased: release))
        case 1: use(Throttle<Int>.collecting(interval: duration, edges: edges, on: loop) { _ in })
        case 2:
            use(
                isHeads
                    ? Debounce(interval: duration, edges: edges, maxWait: maxWait, on: loop, whenReleased: release) {
                        _ in
                    }
                    : Debounce<Int>(interval: duration, edges: edges, maxWait: maxWait, on: loop))
        case 3: use(Debounce<Int>.collecting(interval: duration, edges: edges, maxWait: maxWait, on: loop) { _ in })
        case 4:
            use(
                isHeads
                    ? KeyedThrottle(interval: duration, edges: edges, on: loop, whenReleased: release) { _, _ in }
                    : KeyedThrottle<Int, Int>(interval: duration, edges: edges, on: loop))
        case 5:
            use(
                isHeads
                    ? KeyedThrottle<Int, Int>.collecting(interval: duration, edges: edges, on: loop) { _, _ in }
                    : KeyedDebounce<Int, Int>.collecting(
                        interval: duration, edges: edges, maxWait: maxWait, on: loop
                    ) { _, _ in })
        case 6:
            use(
                isHeads
                    ? KeyedDebounce(interval: duration, edges: edges, maxWait: maxWait, on: loop) { _, _ in }
                    : KeyedDebounce<Int, Int>(interval: duration, edges: edges, maxWait: maxWait, on: loop))
        default:
            let limiter =
                isHeads
                ? AsyncLimiter<Int, Int>.throttle(interval: duration, edges: edges, on: loop) { $0 }
                : AsyncLimiter<Int, Int>.debounce(interval: duration, edges: edges, maxWait: maxWait, on: loop) { $0 }
            _ = limiter.call(1)
            limiter.interval = duration
            _ = limiter.call(1)
            others.append(limiter)
        }
    }

    private func use(_ limiter: Limiter<Int>) {
        for input in 0..<3 {
            limiter(input)
            if isHeads { moveTime() }
            if isHeads { limiter.interval = duration }
            if isHeads { (limiter as? Debounce<Int>)?.maxWait = duration }
        }
        _ = limiter.description
        if isHeads { limiter.flush() }
        others.append(limiter)
    }

    private func use(_ limiter: KeyedLimiter<Int, Int>) {
        for input in 0..<3 {
            limiter(input, for: dice(3))
            if isHeads { moveTime() }
            if isHeads { limiter.interval = duration }
            if isHeads { (limiter as? KeyedDebounce<Int, Int>)?.maxWait = duration }
        }
        _ = (limiter.description, limiter.keyCount)
        if isHeads { limiter.flushAll() }
        others.append(limiter)
    }

    /// One whose end needs no SIGKILL: SIGTERM comes first.
    private func endChild() {
        guard let child = try? Loop.ChildProcess("sleep", ["1000"], handler: { _, _ in }) else { return }
        if isHeads { loop.add(child) }
        if isHeads { child.end(after: duration, within: duration) }
        if isHeads { child.endOthers(within: duration) }
        for _ in 0...dice(3) { child.end(within: duration) }
        others.append(child)
    }

    /// No child is started for real.
    private func superviseChild() {
        let factor = [-1, 0, 1, 2, 1e300, .infinity, .nan][dice(7)]
        var backoff = Loop.Backoff(from: duration, to: duration, factor: factor, jitter: isHeads ? factor : 0)
        for _ in 0...dice(4) { _ = backoff.next(using: &random) }
        if isHeads { backoff.reset() }
        let supervised = Loop.SupervisedChild(
            on: loop, backoff: backoff, restarts: isHeads ? .onFailure : .onDemand,
            settlingTime: isHeads ? duration : nil, quickEndLimit: 3, quickEndPeriod: isHeads ? duration : nil
        ) { throw CancellationError() }
        supervised.start { _, _ in }
        if isHeads { supervised.restart(within: duration) }
        if isHeads { supervised.end(within: duration) }
        runLoop()
        // Real pauses may take for ever.
        supervised.end(within: duration)
    }

    /// To a peer that neither reads nor closes.
    private func endConnection() {
        let ends = Ends.sockets()
        guard let connection = try? Loop.Connection(owning: ends.reader, handler: { _, _ in }) else { return }
        ends.isReaderClosed = true
        if isHeads { loop.add(connection) }
        connection.send([1])
        for _ in 0...dice(3) {
            if isHeads { connection.idleLimit = duration }
            if isHeads { connection.end(within: duration) } else { connection.finishSending(within: duration) }
        }
        others += [connection, ends] as [Any]
    }

    /// With others that come before and after the end.
    private func endConnections() {
        let connections = Loop.ConnectionSet()
        for _ in 0..<4 {
            let ends = Ends.sockets()
            guard let connection = try? Loop.Connection(owning: ends.reader, handler: { _, _ in }) else { return }
            ends.isReaderClosed = true
            if isHeads { loop.add(connection) }
            connections.insert(connection)
            if isHeads { connections.end(within: duration) {} }
            if isHeads { connections.finishSending(within: duration) {} }
            if isHeads { moveTime() }
            others += [connection, ends] as [Any]
        }
        others.append(connections)
    }

    /// The rules alone, whose times are numbers. They must not decrease.
    private func useState() {
        let kind: RateLimitState.Kind = isHeads ? .throttle : .debounce(maxWait: isHeads ? number : nil)
        var state = RateLimitState(kind, interval: number, edges: edges)
        for now in (0..<6).map({ _ in number }).sorted() {
            switch dice(5) {
            case 0, 1: _ = state.call(at: now)
            case 2: _ = state.timerFired(at: now)
            case 3: _ = state.flush(at: now)
            default: state.changeInterval(to: number)
            }
        }
    }

    private var cost: Int { Int(number) }

    private func useQuota() {
        if isHeads {
            let queue = PacedQueue<Int>(cost, per: duration, burst: cost, capacity: 2, on: loop) { _ in }
            for input in 0..<3 {
                _ = queue(input, cost: cost)
                moveTime()
            }
            _ = queue.description
            if isHeads { queue.flush() }
            return others.append(queue)
        }
        let quota =
            switch dice(4) {
            case 0: Quota(cost, per: duration, burst: isHeads ? nil : cost, on: loop)
            case 1: Quota(cost, per: duration, burst: isHeads ? nil : cost, clock: clock)
            case 2: Quota(.atMost(cost, inAny: duration), on: loop)
            default: Quota(.atMost(cost, inAny: duration), .atMost(self.cost, inAny: duration), clock: clock)
            }
        let keyed =
            switch dice(4) {
            case 0: KeyedQuota<Int>(cost, per: duration, burst: isHeads ? nil : cost, on: loop)
            case 1: KeyedQuota<Int>(cost, per: duration, burst: isHeads ? nil : cost, clock: clock)
            case 2: KeyedQuota<Int>(.atMost(cost, inAny: duration), .atMost(self.cost, inAny: duration), on: loop)
            default: KeyedQuota<Int>(.atMost(cost, inAny: duration), clock: clock)
            }
        for _ in 0..<5 {
            _ = (quota.take(cost), keyed.take(cost, for: dice(3)), quota.check(cost), keyed.check(cost, for: dice(3)))
            moveTime()
            _ = (quota.reserve(cost), keyed.reserve(cost, for: dice(3)))
            if isHeads { quota.giveBack(cost) }
            if isHeads { keyed.giveBack(cost, for: dice(3)) }
            _ = (quota.description, keyed.description)
        }
    }

    private func useMainActor() {
        others.append(PacedQueue<Int>(cost, per: duration, burst: cost, capacity: 2, isolation: .shared) { _ in })
        if isHeads {
            others.append(Throttle<Int>(interval: duration, isolation: .shared) { _ in })
            others.append(Throttle<Int>.collecting(interval: duration, isolation: .shared) { _ in })
            others.append(KeyedThrottle<Int, Int>.collecting(interval: duration, isolation: .shared) { _, _ in })
            others.append(KeyedThrottle<Int, Int>(interval: duration, isolation: .shared) { _, _ in })
        } else {
            others.append(Debounce<Int>(interval: duration, maxWait: duration, isolation: .shared) { _ in })
            others.append(Debounce<Int>.collecting(interval: duration, maxWait: duration, isolation: .shared) { _ in })
            others.append(
                KeyedDebounce<Int, Int>.collecting(interval: duration, maxWait: duration, isolation: .shared) {
                    _, _ in
                })
            others.append(
                KeyedDebounce<Int, Int>(interval: duration, maxWait: duration, isolation: .shared) { _, _ in })
        }
    }

    // MARK: Rules

    private final class Sheet: Sendable {}

    private func useRules() {
        let engine = RuleEngine()
        let layouting = LimitedMethod<Sheet, Int>("layout", engine: engine) { _, _ in }
        let sheet = Sheet()
        let mode = AnyMethodRule.Mode.allCases.randomElement(using: &random)!
        let rule: AnyMethodRule? =
            switch dice(5) {
            case 0: try? layouting.limit(for: sheet, every: duration, mode: mode, on: loop)
            case 1: try? layouting.limit(for: Sheet.self, every: duration, mode: mode, on: loop)
            case 2: layouting.rule(for: sheet, interval: duration, mode: mode, on: loop)
            default:
                layouting.rule(
                    for: Sheet.self, interval: duration, mode: mode, on: loop, isPersistent: isHeads)
            }
        if let rule, engine.rules.isEmpty { try? engine.apply(rule) }
        for input in 0..<3 {
            layouting(sheet, input)
            if isHeads { moveTime() }
            if isHeads { rule?.interval = duration }
        }
        if let snapshot = try? engine.snapshot() {
            moveTime()
            engine.discardWaitingRules()
            try? engine.apply(snapshot, on: loop)
        }
        layouting(sheet, 4)
        others += [layouting, sheet] as [Any]
    }

    // MARK: Threads

    func runOnThreads() async throws {
        announce()
        let options = LoopThread.Options(name: "extreme", timerSlack: isHeads ? duration : nil, onRefusal: .runAnyway)
        guard let thread = try? LoopThread(options: options) else { return }
        for _ in 0..<4 {
            thread.perform(after: duration) {}
            thread.loop.perform(after: duration) {}
            thread.loop.perform(after: duration, isolation: .shared) {}
            // A limit that is over is an error.
            _ = try? await thread.run(for: duration) {}
            _ = try? await thread.loop.run(for: duration) {}
            let (first, second) = (duration, duration)
            await Task.detached {
                try? thread.performBlocking(for: first) {}
                try? thread.loop.performBlocking(for: second) {}
                if let pool = try? LoopThreadPool(count: 1) {
                    _ = pool.drainBlocking(for: first)
                    pool.stop()
                    pool.joinBlocking()
                }
            }.value
        }
        try await useSequences(of: thread.loop)
        try await settle()
        try useMonitor(on: thread)
        thread.stop()
        await Task.detached { thread.joinBlocking() }.value
    }

    private func useSequences(of loop: Loop) async throws {
        let (deadline, tolerance) = (instant, isHeads ? duration : nil)
        let clock = LoopClock(loop, timeBase: timeBase)
        let ticks = loop.ticks(every: duration, tolerance: duration)
        let (keyed, cost) = (KeyedQuota<Int>(self.cost, per: duration), self.cost)
        let backoff = Loop.Backoff(from: duration, to: duration)
        let waits = [
            Task { try? await clock.sleep(until: deadline, tolerance: tolerance) },
            Task { for await tick in ticks where tick.missed < 0 { break } },
            Task { try? await keyed.wait(cost, for: 1) },
            Task { try? await keyed.wait(cost, for: 1, on: loop) },
            Task { try? await backoff.retry(attempts: 3) { _ in throw CancellationError() } },
            Task { try? await backoff.retry(attempts: 3, clock: clock) { _ in throw CancellationError() } },
        ]
        _ = Loop.Ticks.Tick(scheduledTime: instant, missed: .max)
        _ = Loop.Activities.Passage(activity: .entry, time: instant, missed: .max)
        _ = try? await loop.run { 0 }
        for wait in waits {
            wait.cancel()
            await wait.value
        }
    }

    private func settle() async throws {
        let clock = VirtualClock(isHeads ? .automatic : .manual, startingAt: instant)
        let thread = try LoopThread(clock: clock)
        for _ in 0..<3 { thread.perform(after: duration) {} }
        for _ in 0..<3 { await clock.advanceAndSettle(by: duration) }
        thread.stop()
        await Task.detached { thread.joinBlocking() }.value
    }
}
