import Foundation
import RunLoopKit

/// A call inside a burst: the limiter has acted, or waits, and the call changes nothing but what it remembers. Of all
/// calls it is the one that there are most of.
struct RateLimitCall: Scenario {
    let name = "rate-limit-call"
    let summary = "1,000 calls of a limiter inside a burst."

    func run(_ effort: Effort) throws -> Outcome {
        let worker = try LoopThread(name: "worker")
        let subjects: [any OperationSubject] = [
            ClockReads(), LockedClockReads(),
            KitCalls(Outcome.kit, worker, Debounce<Int>(interval: burst, on: worker.loop) { _ in }),
            KitCalls(
                "RunLoopKit, throttle, leading", worker, Throttle<Int>(interval: burst, on: worker.loop) { _ in }),
            KitCalls(
                "RunLoopKit, throttle, both", worker,
                Throttle<Int>(interval: burst, edges: [.leading, .trailing], on: worker.loop) { _ in }),
            KitVoidCalls("RunLoopKit, no input", worker),
            KitCallsFromElsewhere("RunLoopKit, other thread", worker),
            WorkItemCalls(), AsyncAfterCalls(),
        ]
        // An operation is a thousand calls: a single one is too short to be told in nanoseconds.
        let effort = Effort(
            timerRounds: effort.timerRounds, periodsPerRound: effort.periodsPerRound,
            operationRounds: effort.operationRounds, operationsPerRound: effort.operationsPerRound / 25)
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) times 1,000 calls",
            rows: subjects.measured(name, effort), bare: "clock_gettime",
            notes: [
                "Every figure is for 1,000 calls: microseconds are nanoseconds for one.",
                "RunLoopKit: a trailing debounce of an Int, called on its loop's thread.",
                "Dispatch, work item: made again at each call, as HWDebounce does.",
                "Dispatch, asyncAfter: one at each call, as MessageThrottle does.",
            ])
    }
}

/// Longer than the measurement.
private let burst = Duration.seconds(3600)

private let callsPerOperation = 1_000

private func time(_ count: Int, _ body: (Int) -> Void) -> Int64 {
    let start = monotonicNow()
    for number in 0..<count * callsPerOperation { body(number) }
    return monotonicNow() - start
}

// MARK: The least that it takes

/// What every limiter has to do: look at the clock.
private final class ClockReads: OperationSubject {
    let name = "clock_gettime"

    func measure(_ count: Int) -> Int64 { time(count) { _ in _ = monotonicNow() } }
}

/// What one does that can be called from any thread.
private final class LockedClockReads: OperationSubject {
    let name = "clock_gettime, mutex"
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func measure(_ count: Int) -> Int64 {
        time(count) { _ in
            pthread_mutex_lock(mutex)
            _ = monotonicNow()
            pthread_mutex_unlock(mutex)
        }
    }
}

// MARK: RunLoopKit

private protocol IntLimiter: Sendable {
    @discardableResult
    func callAsFunction(_ input: Int) -> Bool
}
extension Throttle: IntLimiter where Input == Int {}
extension Debounce: IntLimiter where Input == Int {}

/// On the loop's own thread.
private final class KitCalls<Limiter: IntLimiter>: OperationSubject {
    let name: String
    private let worker: LoopThread
    private let limiter: Limiter

    init(_ name: String, _ worker: LoopThread, _ limiter: Limiter) {
        (self.name, self.worker, self.limiter) = (name, worker, limiter)
        _ = limiter(0)
    }

    func measure(_ count: Int) -> Int64 {
        let limiter = limiter
        return try! worker.performAndWait { time(count) { limiter($0) } }
    }
}

private final class KitVoidCalls: OperationSubject {
    let name: String
    private let worker: LoopThread
    private let limiter: Debounce<Void>

    init(_ name: String, _ worker: LoopThread) {
        (self.name, self.worker) = (name, worker)
        limiter = Debounce(interval: burst, on: worker.loop) {}
        limiter()
    }

    func measure(_ count: Int) -> Int64 {
        let limiter = limiter
        return try! worker.performAndWait { time(count) { _ in limiter() } }
    }
}

/// From a thread that is not the loop's. Nothing has to be handed over, so that should make no difference.
private final class KitCallsFromElsewhere: OperationSubject {
    let name: String
    private let limiter: Debounce<Int>

    init(_ name: String, _ worker: LoopThread) {
        self.name = name
        limiter = Debounce(interval: burst, on: worker.loop) { _ in }
        limiter(0)
    }

    func measure(_ count: Int) -> Int64 { time(count) { limiter($0) } }
}

// MARK: Dispatch

/// Short, so that what has been scheduled does not pile up without end.
private let delay = DispatchTimeInterval.milliseconds(10)

private final class WorkItemCalls: OperationSubject {
    let name = "Dispatch, work item"
    private let queue = DispatchQueue(label: "limiter")
    private var item: DispatchWorkItem?

    func measure(_ count: Int) -> Int64 {
        time(count) { _ in
            item?.cancel()
            let item = DispatchWorkItem {}
            self.item = item
            queue.asyncAfter(deadline: .now() + delay, execute: item)
        }
    }
}

private final class AsyncAfterCalls: OperationSubject {
    let name = "Dispatch, asyncAfter"
    private let queue = DispatchQueue(label: "limiter")
    /// Touched by the queue only, which acts on the last call.
    private let last = Latest()

    private final class Latest: @unchecked Sendable { var number = 0 }

    func measure(_ count: Int) -> Int64 {
        time(count) { number in
            queue.asyncAfter(deadline: .now() + delay) { [last] in last.number = number }
        }
    }
}
