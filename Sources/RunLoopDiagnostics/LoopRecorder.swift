import RunLoopKit
import Synchronization

/// Records what one loop does, for a watcher on another thread. See `StallMonitor`.
///
/// The loop's thread alone writes. It publishes two words:
///
/// | word | what it holds |
/// |---|---|
/// | `mark` | the number of the last event; it only grows |
/// | `since` | when the handler that runs now was called, or resumed; `never` if none runs |
///
/// | thread | what it does |
/// |---|---|
/// | the loop's, at an event | step 0: keeps the stall that ends with it, and its mark, in `ended` |
/// | | step 1: stores *never* in `since` |
/// | | step 2: adds 1 to `mark` |
/// | | step 3: waits until there are no `readers` |
/// | | step 4: changes `levels` |
/// | | step 5: stores the time in `since`, if a handler runs |
/// | the watcher, to look | reads `mark`, `since`, and `mark` again, which must be the same |
/// | the watcher, to read `levels` | joins `readers`; reads them if `mark` is still what it was; leaves `readers` |
///
/// *No false alarm.* A watcher that reads a `mark` reads the *never* stored before it (release, acquire), or a later
/// value of `since`. If that is the time of a later event, `mark` has changed by the second read. A handler that seems
/// to run after step 0 has ended, as its mark says: it is not greater than that of the last stall in `ended`.
///
/// *No race.* A `since` that is a time was stored after the change of `levels` (release, acquire). A later change comes
/// after steps 2 and 3, and `mark` and `readers` are sequentially consistent: either the watcher sees the new mark, or
/// the loop's thread sees `readers` and waits. So while there are readers and `mark` is unchanged, the loop's thread is
/// in user code that it cannot leave unnoticed: the watcher may read `levels`, and whatever else of the loop only
/// changes outside of handlers.
final class LoopRecorder: LoopMonitor, @unchecked Sendable {
    /// What the loop's thread does.
    enum Phase: UInt8, AtomicRepresentable {
        /// No run is active.
        case idle
        /// The loop's own code, in a run.
        case running
        /// The loop sleeps, or its host does.
        case asleep
        /// User code, in a handler.
        case handler
    }

    /// A handler that has not returned, and the run that it makes, if any. The first level is no handler's.
    struct Level {
        let callout: Callout?
        /// The mode in which the handler was called.
        let mode: Loop.Mode
        var phase: Phase
        /// The mode of the run.
        var runMode: Loop.Mode
        /// When the run's pass began, and how long the loop had slept until then. Nil outside of passes.
        var pass: (start: Int64, asleep: Int64)?
    }

    /// A stall that has ended.
    struct Ended {
        let mark: UInt64
        let start: Int64
        let end: Int64
        let levels: [Level]
    }

    static let never = Int64.max

    /// The number of ended stalls that are kept for a watcher that does not run.
    private static let capacity = 64

    private let now: @Sendable () -> Int64
    private let prepareThread: @Sendable () -> Void
    /// The stalls to be recorded in `ended`.
    private let threshold: Int64

    private let mark = Atomic<UInt64>(0)
    private let since = Atomic<Int64>(LoopRecorder.never)
    private let readers = Readers()

    /// The kernel's number of the loop's thread; 0 before the first event. Relaxed: `since` publishes it.
    private let thread = Atomic<Int32>(0)

    @exclusivity(unchecked) private var levels = [Level(callout: nil, mode: .default, phase: .idle, runMode: .default)]

    private let lock = Lock(.leaf)
    // Guarded by `lock`: those kept, and the mark of the last one, kept or not.
    private var ended: [Ended] = []
    private var lastEnded: UInt64 = 0

    let activity: ActivityRecorder

    /// - Parameter prepareThread: Called on the loop's thread at the first event.
    init(threshold: Int64, now: @escaping @Sendable () -> Int64, prepareThread: @escaping @Sendable () -> Void) {
        self.threshold = threshold
        self.now = now
        self.prepareThread = prepareThread
        activity = ActivityRecorder(at: now())
    }

    // MARK: On the loop's thread

    /// All that begin or end a period, or a pass.
    var activities: Loop.Activity { [.entry, .beforeTimers, .beforeWaiting, .afterWaiting, .exit] }

    func reached(_ activity: Loop.Activity, in mode: Loop.Mode) {
        let top = levels.count - 1
        if activity == .beforeTimers, levels[top].phase == .running { return beginPass(&levels[top]) }
        let next: Phase =
            switch activity {
            case .beforeWaiting: .asleep
            case .exit: levels.count == 1 ? .idle : .handler
            default: .running
            }
        let time = now()
        change(at: time) { levels in
            if activity == .exit { endPass(&levels[top], at: time) }
            levels[top].phase = next
            if levels[top].runMode != mode { levels[top].runMode = mode }
        }
        if activity == .beforeTimers { beginPass(&levels[top]) }
    }

    /// No event: the loop's own code runs before and after. So no watcher reads `levels`.
    private func beginPass(_ level: inout Level) {
        // A run begins with its first pass.
        let time = level.pass == nil ? activity.lastEvent : now()
        endPass(&level, at: time)
        level.pass = (time, activity.timeAsleep)
    }

    func willCallOut(_ callout: Callout) {
        if callout.kind == .timer { activity.lateness.record(callout.lateness) }
        change(at: now()) { levels in
            let mode = levels[levels.count - 1].runMode
            levels.append(Level(callout: callout, mode: mode, phase: .handler, runMode: mode))
        }
    }

    func didCallOut(_ callout: Callout) {
        // The recorder may have been attached inside the handler.
        guard levels.count > 1 else { return }
        activity.countCallout()
        change(at: now()) { levels in levels.removeLast() }
    }

    private func endPass(_ level: inout Level, at time: Int64) {
        guard let pass = level.pass.take() else { return }
        let asleep = activity.timeAsleep.subtractingSaturating(pass.asleep)
        activity.passes.record(time.subtractingSaturating(pass.start).subtractingSaturating(asleep))
    }

    /// Makes an event, in the steps above.
    private func change(at time: Int64, _ body: (inout [Level]) -> Void) {
        endPeriod(at: time)
        beginPeriod(at: time, body)
    }

    /// Step 0.
    func endPeriod(at time: Int64) {
        activity.account(until: time)
        noteStall(until: time)
    }

    /// The other steps.
    func beginPeriod(at time: Int64, _ body: (inout [Level]) -> Void) {
        if thread.load(ordering: .relaxed) == 0 {
            prepareThread()
            thread.store(System.kernelThreadNumber, ordering: .relaxed)
        }
        since.store(LoopRecorder.never, ordering: .relaxed)
        mark.store(mark.load(ordering: .relaxed) &+ 1, ordering: .sequentiallyConsistent)
        // Also acquires: the watcher has read before the change.
        readers.waitUntilNone()
        body(&levels)
        let phase = levels[levels.count - 1].phase
        // Release: a thread that reads the new phase reads the new times afterwards.
        activity.phase.store(phase, ordering: .releasing)
        if phase == .handler { since.store(time, ordering: .releasing) }
    }

    /// Keeps a stall that ends with the event that is being made, with its true end.
    private func noteStall(until time: Int64) {
        let start = since.load(ordering: .relaxed)
        guard start != LoopRecorder.never, time.subtractingSaturating(start) >= threshold else { return }
        let stall = Ended(mark: mark.load(ordering: .relaxed), start: start, end: time, levels: levels)
        lock.withLock {
            lastEnded = stall.mark
            if ended.count < LoopRecorder.capacity { ended.append(stall) }
        }
    }

    // MARK: On any thread; the watcher's alone takes what has ended

    /// The handler that runs now: its mark, and when it was called or resumed. Nil if none does.
    var runningHandler: (mark: UInt64, since: Int64)? {
        let before = mark.load(ordering: .acquiring)
        let since = since.load(ordering: .acquiring)
        guard since != LoopRecorder.never, mark.load(ordering: .relaxed) == before else { return nil }
        return (before, since)
    }

    var calloutInWords: String? {
        guard let (mark, since) = runningHandler else { return nil }
        let name = whileInHandler(mark) { levels, _ in levels.last?.callout?.name } ?? nil
        return name.map { "\($0) for \(Duration.nanoseconds(max(0, now().subtractingSaturating(since))))" }
    }

    /// Whether the handler with this mark, a stall, ran at a time that is over: it still does, or it has ended later.
    /// Called before its end is taken.
    func wasInHandler(_ number: UInt64, at time: Int64) -> Bool {
        if mark.load(ordering: .acquiring) == number { return true }
        return lock.withLock { ended.contains { $0.mark == number && time <= $0.end } }
    }

    /// Calls `body` if the handler with this mark still runs. The handler cannot return meanwhile, so be quick.
    func whileInHandler<Result>(_ number: UInt64, _ body: ([Level], _ thread: Int32) -> Result) -> Result? {
        readers.enter()
        defer { readers.leave() }
        guard mark.load(ordering: .sequentiallyConsistent) == number else { return nil }
        return body(levels, thread.load(ordering: .relaxed))
    }

    /// Takes the stalls that have ended, and returns the mark of the last one, taken now or before. After
    /// `runningHandler`, it has all that ended before the handler was called.
    func takeEnded() -> (stalls: [Ended], last: UInt64) {
        lock.withLock {
            defer { if !ended.isEmpty { ended = [] } }
            return (ended, lastEnded)
        }
    }
}
