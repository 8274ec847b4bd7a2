import CLinux
import CoreFoundation
import Foundation
import RunLoopKit

/// A repeating timer of 1 ms: how late its calls come, and whether it keeps to its grid.
struct TimerAccuracy: Scenario {
    let name = "timer-accuracy"
    let summary = "How late the calls of a 1 ms timer come, and whether it drifts."

    /// Peers that are not in the toolchain.
    let others: @Sendable () throws -> [any TimerSubject]

    private static let period: Int64 = 1_000_000

    init(others: @escaping @Sendable () throws -> [any TimerSubject] = { [] }) { self.others = others }

    func run(_ effort: Effort) throws -> Outcome {
        let kit = KitTimer(Outcome.kit)
        let subjects: [any TimerSubject] =
            [
                BareTimer(), PeriodicTimer(), kit, KitTimer(Outcome.kit + ", precise", isPrecise: true),
                try KitTicks(Outcome.kit + ", ticks", isOnLoop: true),
                try KitTicks(Outcome.kit + ", ticks elsewhere", isOnLoop: false), CFTimer(), DispatchTimer(),
                SleepTimer("Task.sleep, continuous", ContinuousClock()),
                SleepTimer("Task.sleep, suspending", SuspendingClock()),
            ] + (try others())
        var logs = subjects.map { _ in [TickLog]() }
        subjects.takingTurns(rounds: effort.timerRounds, name) { index, subject in
            // Enough time to prepare everything before the first tick is due.
            let start = monotonicNow() + 5 * TimerAccuracy.period
            let log = TickLog(start: start, period: TimerAccuracy.period, count: effort.periodsPerRound)
            subject.tick(into: log)
            logs[index].append(log)
        }
        let results = zip(subjects, logs).map { ($0.name, Samples($1.flatMap(\.lateness)), $1) }
        return Outcome(
            scenario: name,
            title: "\(effort.timerRounds) rounds of \(effort.periodsPerRound) periods of 1 ms",
            rows: results.map { row($0, $1, $2) }, bare: "timerfd",
            extras: [Row(kit.name, [.time("grid-error", kit.gridError)])],
            notes: [
                "Lateness; the last column of the histogram holds all that is later still.",
                "Drift: how much later the end of a round came than its beginning.",
                "RunLoopKit, ticks: a task on the loop takes them; elsewhere, a task on the default executor.",
                "RunLoopKit: the scheduled times are off the grid by \(kit.gridError) ns at most.",
            ],
            distributions: results.map { ($0.0, $0.1) })
    }

    private func row(_ subject: String, _ lateness: Samples, _ logs: [TickLog]) -> Row {
        Row(
            subject,
            [
                .time("p50", lateness.median), .time("p90", lateness.percentile(90)),
                .time("p99", lateness.percentile(99)), .time("max", lateness.max),
                .time("drift", Samples(logs.map(\.drift)).median), .count("missed", logs.reduce(0) { $0 + $1.missed }),
            ])
    }
}

/// A way to be called at every instant of a grid.
protocol TimerSubject: Subject {
    /// Records a call for each tick, or for the first of several overdue ticks. Returns when the last tick is past.
    func tick(into log: TickLog)
}

/// The calls of one round: the tick of each and its lateness. One thread at a time uses it.
final class TickLog: @unchecked Sendable {
    /// When tick 0 is due.
    let start: Int64
    let period: Int64
    private let count: Int
    private(set) var lateness: [Int64] = []
    private(set) var isComplete = false

    init(start: Int64, period: Int64, count: Int) {
        self.start = start
        self.period = period
        self.count = count
        // Measuring must not allocate.
        lateness.reserveCapacity(count)
    }

    func record(tick: Int, at now: Int64) {
        if tick < count { lateness.append(now - time(of: tick)) }
        if tick >= count - 1 { isComplete = true }
    }

    func time(of tick: Int) -> Int64 { start + Int64(tick) * period }

    /// The first tick that is not due yet: the one that a timer which merges overdue ticks into one call serves next.
    func tick(after now: Int64) -> Int { now < start ? 0 : Int((now - start) / period) + 1 }

    /// Ticks that a late call for an earlier tick covered too.
    var missed: Int { count - lateness.count }

    /// How much later the last calls came than the first ones, by their medians. A round in which a busy machine let no
    /// call come has no drift.
    var drift: Int64 {
        guard !lateness.isEmpty else { return 0 }
        let width = max(1, min(100, lateness.count / 4))
        return Samples(lateness.suffix(width)).median - Samples(lateness.prefix(width)).median
    }
}

// MARK: Bare

/// The lower bound: a thread that waits for a timerfd, and arms it for the next tick after taking the time.
/// Edge-triggered and never read.
private final class BareTimer: TimerSubject {
    let name = "timerfd"

    func tick(into log: TickLog) {
        PlainThread {
            let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
            let timer = check("timerfd_create", timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC)))
            defer {
                close(timer)
                close(poll)
            }
            watch(timer, by: poll, CLINUX_EPOLLIN | CLINUX_EPOLLET)
            var tick = 0
            while !log.isComplete {
                arm(timer, at: log.time(of: tick))
                waitForOne(poll)
                let now = monotonicNow()
                log.record(tick: tick, at: now)
                tick = log.tick(after: now)
            }
        }.join()
    }
}

/// A thread that only reads a timerfd that the kernel repeats. It is later than the other one: the kernel arms the
/// timer for the next tick before it returns from the read.
private final class PeriodicTimer: TimerSubject {
    let name = "timerfd, periodic"

    func tick(into log: TickLog) {
        PlainThread {
            let timer = check("timerfd_create", timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC)))
            defer { close(timer) }
            arm(timer, at: log.start, every: log.period)
            var tick = 0
            while !log.isComplete {
                var expired: UInt64 = 0
                check("read", read(timer, &expired, 8))
                log.record(tick: tick, at: monotonicNow())
                tick += Int(expired)
            }
        }.join()
    }
}

// MARK: Loops

/// A timer on a thread's own loop.
private final class KitTimer: TimerSubject, @unchecked Sendable {
    let name: String
    private let isPrecise: Bool

    /// The greatest distance of a scheduled time from the grid.
    private(set) var gridError: Int64 = 0

    init(_ name: String, isPrecise: Bool = false) { (self.name, self.isPrecise) = (name, isPrecise) }

    func tick(into log: TickLog) {
        PlainThread { [self] in
            let loop = Loop.current
            let start = Loop.Instant(nanoseconds: log.start)
            let timer = Loop.Timer(at: start, repeating: .nanoseconds(log.period)) { [self] firing in
                let now = monotonicNow()
                let offset = firing.scheduledTime.nanoseconds - log.start
                let tick = Int(offset / log.period)
                gridError = max(gridError, abs(firing.scheduledTime.nanoseconds - log.time(of: tick)))
                log.record(tick: tick, at: now)
                if log.isComplete { firing.timer.invalidate() }
            }
            timer.isPrecise = isPrecise
            loop.add(timer, in: .default)
            // Without its only timer the loop has nothing to wait for, and the run returns.
            loop.run()
        }.join()
    }
}

/// A task that iterates the ticks of a loop.
private final class KitTicks: TimerSubject {
    let name: String
    private let thread: LoopThread
    private let executor: LoopTaskExecutor?

    init(_ name: String, isOnLoop: Bool) throws {
        self.name = name
        thread = try LoopThread(name: "ticks")
        executor = isOnLoop ? thread.loop.taskExecutor : nil
    }

    func tick(into log: TickLog) {
        let ticks = thread.loop.ticks(every: .nanoseconds(log.period))
        _ = measured(preferring: executor) {
            var tick = -1
            for await report in ticks {
                let lateness = monotonicNow() - report.scheduledTime.nanoseconds
                tick += 1 + report.missed
                // Their grid is another one, since it begins with the iteration.
                log.record(tick: tick, at: log.time(of: tick) + lateness)
                if log.isComplete { break }
            }
        }
    }
}

private final class CFTimer: TimerSubject {
    let name = "CFRunLoop"

    func tick(into log: TickLog) {
        PlainThread {
            let first = CFTimer.absoluteTime(atMonotonic: log.start)
            nonisolated(unsafe) var tick = 0
            let timer = CFRunLoopTimerCreateWithHandler(nil, first, Double(log.period) / 1e9, 0, 0) { timer in
                let now = monotonicNow()
                log.record(tick: tick, at: now)
                tick = log.tick(after: now)
                if log.isComplete { CFRunLoopTimerInvalidate(timer) }
            }
            CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode)
            CFRunLoopRun()
        }.join()
    }

    /// CF counts in seconds of the wall clock, which it reads in whole microseconds: this reads the clock right after a
    /// change.
    private static func absoluteTime(atMonotonic time: Int64) -> CFAbsoluteTime {
        let before = CFAbsoluteTimeGetCurrent()
        var now = before
        while now == before { now = CFAbsoluteTimeGetCurrent() }
        return now + Double(time - monotonicNow()) / 1e9
    }
}

// MARK: Thread pools

private final class DispatchTimer: TimerSubject {
    let name = "Dispatch"

    func tick(into log: TickLog) {
        let isOver = DispatchSemaphore(value: 0)
        let source = DispatchSource.makeTimerSource(flags: .strict, queue: DispatchQueue(label: "timer"))
        nonisolated(unsafe) let timer = source
        nonisolated(unsafe) var tick = 0
        source.setEventHandler {
            let now = monotonicNow()
            guard !log.isComplete else { return }
            log.record(tick: tick, at: now)
            tick += Int(timer.data)
            if log.isComplete { timer.cancel() }
        }
        source.setCancelHandler { isOver.signal() }
        source.schedule(
            deadline: DispatchTime(uptimeNanoseconds: UInt64(log.start)), repeating: .nanoseconds(Int(log.period)),
            leeway: .nanoseconds(0))
        source.activate()
        isOver.wait()
        // The handler refers to the source.
        source.setEventHandler(handler: nil)
    }
}

/// A task that sleeps until the instant of each tick.
private final class SleepTimer<C: Clock>: TimerSubject where C.Duration == Duration {
    let name: String
    private let clock: C

    init(_ name: String, _ clock: C) {
        self.name = name
        self.clock = clock
    }

    func tick(into log: TickLog) {
        let isOver = DispatchSemaphore(value: 0)
        Task.detached { [clock] in
            let start = clock.now.advanced(by: .nanoseconds(log.start - monotonicNow()))
            var tick = 0
            while !log.isComplete {
                let time = start.advanced(by: .nanoseconds(log.time(of: tick) - log.start))
                try await Task.sleep(until: time, tolerance: .zero, clock: clock)
                let now = monotonicNow()
                log.record(tick: tick, at: now)
                tick = log.tick(after: now)
            }
            isOver.signal()
        }
        isOver.wait()
    }
}
