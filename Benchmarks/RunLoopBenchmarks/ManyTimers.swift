import CLinux
import CoreFoundation
import Foundation
import RunLoopKit

/// A thousand repeating timers of 5 to 50 ms on one loop: how late their calls come.
struct ManyTimers: Scenario {
    let name = "timers-1000"
    let summary = "How late the calls of 1,000 timers of 5 to 50 ms on one loop come."
    /// Peers that are not in the toolchain.
    let others: @Sendable () throws -> [any ManyTimersSubject]

    init(others: @escaping @Sendable () throws -> [any ManyTimersSubject] = { [] }) { self.others = others }

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any ManyTimersSubject] =
            [HeapTimers(), KitTimers(), CFTimers(), DispatchTimers()] + (try others())
        var lateness = subjects.map { _ in [Int64]() }
        subjects.takingTurns(rounds: effort.timerRounds, name) { index, subject in
            let log = FiringLog(milliseconds: effort.periodsPerRound)
            subject.fire(into: log)
            lateness[index] += log.lateness
        }
        let results = zip(subjects, lateness).map { ($0.name, Samples($1)) }
        return Outcome(
            scenario: name,
            title: "\(effort.timerRounds) rounds of \(effort.periodsPerRound) ms with \(FiringLog.timers) timers",
            rows: results.map { Row($0, [.time("p50", $1.median), .time("p99", $1.percentile(99)), early($1)]) },
            bare: "timerfd, heap",
            notes: [
                "early: calls in a thousand that came before their time.",
                "libuv and GLib count each interval from the last call; the others keep a grid, whatever was late.",
            ],
            distributions: results)
    }

    private func early(_ lateness: Samples) -> Figure {
        .count("early", lateness.sorted.count { $0 < 0 } * 1_000 / lateness.sorted.count)
    }
}

/// A loop that contains the timers of a ``FiringLog``.
protocol ManyTimersSubject: Subject {
    /// Starts all timers. Returns when the round is over.
    func fire(into log: FiringLog)
}

/// The timers of one round, and how late they fired. One thread at a time uses it.
final class FiringLog: @unchecked Sendable {
    static let timers = 1_000

    private(set) var lateness: [Int64] = []
    private var due: [Int64]
    private let end: Int64

    init(milliseconds: Int) {
        // Enough time to start all timers before the first one is due.
        let origin = monotonicNow() + 10_000_000
        end = origin + Int64(milliseconds) * 1_000_000
        // A microsecond between each two: their intervals are whole milliseconds, since libuv and GLib know no other.
        due = (0..<FiringLog.timers).map { origin + Int64($0) * 1_000 + Int64(FiringLog.interval($0)) * 1_000_000 }
        // Measuring must not allocate. On average a timer fires every 20 ms.
        lateness.reserveCapacity(milliseconds * FiringLog.timers / 10)
    }

    /// The interval of a timer, in milliseconds.
    static func interval(_ timer: Int) -> Int { 5 + timer * 7 % 46 }

    /// When a timer is due.
    func due(_ timer: Int) -> Int64 { due[timer] }

    /// A timer has fired. It is due again at the next time of its grid that is not past. Returns that time; nil if the
    /// round is over.
    func fired(_ timer: Int) -> Int64? {
        let now = monotonicNow()
        lateness.append(now - due[timer])
        if now >= end { return nil }
        let interval = Int64(FiringLog.interval(timer)) * 1_000_000
        repeat { due[timer] += interval } while due[timer] <= now
        return due[timer]
    }

    /// A timer starts now, for a loop that counts intervals from the last call.
    func restart(_ timer: Int) { due[timer] = monotonicNow() + Int64(FiringLog.interval(timer)) * 1_000_000 }
}

/// The lower bound: a heap, and a thread that waits for a timerfd. Edge-triggered and never read.
private final class HeapTimers: ManyTimersSubject {
    let name = "timerfd, heap"

    func fire(into log: FiringLog) {
        PlainThread {
            let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
            let timer = check("timerfd_create", timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC)))
            defer {
                close(timer)
                close(poll)
            }
            watch(timer, by: poll, CLINUX_EPOLLIN | CLINUX_EPOLLET)
            var heap = DueHeap()
            for timer in 0..<FiringLog.timers { heap.insert(timer, due: log.due(timer)) }
            while true {
                arm(timer, at: heap.first!.due)
                waitForOne(poll)
                let now = monotonicNow()
                while let first = heap.first, first.due <= now {
                    heap.removeFirst()
                    guard let due = log.fired(first.timer) else { return }
                    heap.insert(first.timer, due: due)
                }
            }
        }.join()
    }
}

private final class KitTimers: ManyTimersSubject {
    let name = Outcome.kit

    func fire(into log: FiringLog) {
        PlainThread {
            let loop = Loop.current
            for number in 0..<FiringLog.timers {
                let (start, interval) = (Loop.Instant(nanoseconds: log.due(number)), FiringLog.interval(number))
                loop.add(
                    Loop.Timer(at: start, repeating: .milliseconds(interval)) { _ in
                        if log.fired(number) == nil { loop.stop() }
                    })
            }
            loop.run()
        }.join()
    }
}

private final class CFTimers: ManyTimersSubject {
    let name = "CFRunLoop"

    func fire(into log: FiringLog) {
        PlainThread {
            for number in 0..<FiringLog.timers {
                let start = CFAbsoluteTimeGetCurrent() + Double(log.due(number) - monotonicNow()) / 1e9
                let interval = Double(FiringLog.interval(number)) / 1e3
                let timer = CFRunLoopTimerCreateWithHandler(nil, start, interval, 0, 0) { _ in
                    if log.fired(number) == nil { CFRunLoopStop(CFRunLoopGetCurrent()) }
                }
                CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode)
            }
            CFRunLoopRun()
        }.join()
    }
}

/// Sources that fire once and are scheduled again: those that repeat are later with so many.
private final class DispatchTimers: ManyTimersSubject {
    let name = "Dispatch"

    func fire(into log: FiringLog) {
        let queue = DispatchQueue(label: "timers")
        let isOver = DispatchSemaphore(value: 0)
        let timers = (0..<FiringLog.timers).map { _ in DispatchSource.makeTimerSource(flags: .strict, queue: queue) }
        for (number, source) in timers.enumerated() {
            nonisolated(unsafe) let timer = source
            timer.setEventHandler {
                if let due = log.fired(number) { return DispatchTimers.schedule(timer, due) }
                // No other handler runs until the sources are cancelled.
                queue.suspend()
                isOver.signal()
            }
            DispatchTimers.schedule(timer, log.due(number))
        }
        for timer in timers { timer.activate() }
        isOver.wait()
        for timer in timers { timer.cancel() }
        queue.resume()
        // The handlers refer to the sources.
        for timer in timers { timer.setEventHandler(handler: nil) }
    }

    private static func schedule(_ timer: any DispatchSourceTimer, _ due: Int64) {
        timer.schedule(deadline: DispatchTime(uptimeNanoseconds: UInt64(due)), leeway: .nanoseconds(0))
    }
}
