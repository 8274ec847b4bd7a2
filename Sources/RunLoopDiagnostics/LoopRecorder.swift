import RunLoopKit
import Synchronization

/// Records what one loop does, for a watcher on another thread. See `StallMonitor`.
///
/// The loop's thread alone writes. It publishes two words:
///
/// | word | what it holds |
/// |---|---|
/// | `mark` | a number of the handler that runs: one more when it returns, or runs the loop |
/// | `since` | when the handler that runs now was called, or resumed; `never` if none runs |
///
/// | thread | what it does |
/// |---|---|
/// | the loop's, when a handler ends or is interrupted | step 0: keeps the stall, if it is one, in `ended` |
/// | | step 1: stores *never* in `since` |
/// | | step 2: adds 1 to `mark` |
/// | | step 3: waits until there are no `readers` |
/// | the loop's, at each event | step 4: changes `callouts` and the runs |
/// | | step 5: stores the time in `since`, if a handler runs now |
/// | the watcher, to look | reads `mark`, `since`, and `mark` again, which must be the same |
/// | the watcher, to read the handler | joins `readers`; reads it if `mark` is still what it was; leaves `readers` |
///
/// *No false alarm.* A watcher that reads a `mark` reads the *never* stored before it (release, acquire), or a later
/// value of `since`. If that is the time of a later handler, `mark` has changed by the second read. A handler that
/// seems to run after step 0 has ended, as its mark says: it is not greater than that of the last stall in `ended`.
///
/// *No race.* A `since` that is a time was stored after step 4 (release, acquire). The next step 4 comes after steps 2
/// and 3, and `mark` and `readers` are sequentially consistent: either the watcher sees the new mark, or the loop's
/// thread sees `readers` and waits. So while there are readers and `mark` is unchanged, the loop's thread is in user
/// code that it cannot leave unnoticed: the watcher may read the handler, and whatever else of the loop only changes
/// outside of handlers.
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

    /// A run of the loop. The outermost one also stands for the time outside of runs.
    private struct Run {
        var mode: Loop.Mode
        /// What the loop's thread does while none of the run's handlers runs.
        var phase: Phase
        /// The number of handlers that enclose the run.
        let depth: Int
        /// When the run's pass began, and how long the loop had slept until then. Nil outside of passes.
        var pass: (start: Int64, asleep: Int64)?
    }

    /// The innermost handler that has not returned.
    struct Handler {
        let callout: Callout
        /// The mode in which it was called.
        let mode: Loop.Mode
        /// The number of enclosing handlers that run the loop.
        let nesting: Int
    }

    /// A stall that has ended.
    struct Ended {
        let mark: UInt64
        let start: Int64
        let end: Int64
        let handler: Handler
    }

    static let never = Int64.max

    /// The number of ended stalls that are kept for a watcher that does not run.
    private static let capacity = 64

    private let now: @Sendable () -> Int64
    private let prepareThread: @Sendable () -> Void
    /// The stalls to be recorded in `ended`.
    private let threshold: Int64

    private let mark = Atomic<UInt64>(1)
    private let since = Atomic<Int64>(LoopRecorder.never)
    private let readers = Readers()

    /// The kernel's number of the loop's thread; 0 before the first handler. Relaxed: `since` publishes it.
    private let thread = Atomic<Int32>(0)

    /// The handlers that have not returned, innermost last.
    @exclusivity(unchecked) private var callouts: [Callout] = []
    /// The innermost run.
    @exclusivity(unchecked) private var run = Run(mode: .default, phase: .idle, depth: 0)
    /// The runs that enclose it, outermost first.
    @exclusivity(unchecked) private var outerRuns: [Run] = []

    private let lock = Lock(.leaf)
    // Guarded by `lock`: those kept, and the mark of the last one, kept or not.
    private var ended: [Ended] = []
    private var lastEnded: UInt64 = 0

    let activity: ActivityRecorder

    /// - Parameter prepareThread: Called on the loop's thread before the first handler.
    init(threshold: Int64, now: @escaping @Sendable () -> Int64, prepareThread: @escaping @Sendable () -> Void) {
        self.threshold = threshold
        self.now = now
        self.prepareThread = prepareThread
        activity = ActivityRecorder(at: now())
    }

    // MARK: On the loop's thread

    /// All that begin or end a period, or a pass.
    var activities: Loop.Activity { [.entry, .beforeTimers, .beforeWaiting, .afterWaiting, .exit] }

    var wantsHandovers: Bool { false }

    func reached(_ activity: Loop.Activity, in mode: Loop.Mode) {
        // No event: the loop's own code runs before and after.
        if activity == .beforeTimers, phase == .running { return beginPass() }
        let time = now()
        endPeriod(at: time)
        beginPeriod(at: time) {
            if isInHandler {
                outerRuns.append(run)
                run = Run(mode: mode, phase: .running, depth: callouts.count)
            }
            if run.mode != mode { run.mode = mode }
            switch activity {
            case .beforeWaiting: run.phase = .asleep
            case .exit: endRun(at: time)
            default: run.phase = .running
            }
        }
        if activity == .beforeTimers { beginPass() }
    }

    private func endRun(at time: Int64) {
        endPass(at: time)
        if let outer = outerRuns.popLast() { run = outer } else { run.phase = .idle }
    }

    private func beginPass() {
        // A run begins with its first pass.
        let time = run.pass == nil ? activity.lastEvent : now()
        endPass(at: time)
        run.pass = (time, activity.timeAsleep)
    }

    private func endPass(at time: Int64) {
        guard let pass = run.pass else { return }
        run.pass = nil
        activity.countPass(from: pass.start, asleep: pass.asleep, until: time)
    }

    func willCallOut(_ callout: Callout) {
        if callout.kind == .timer { activity.lateness.record(callout.lateness) }
        if thread.load(ordering: .relaxed) == 0 { enterThread() }
        let time = now()
        endPeriod(at: time)
        beginPeriod(at: time) { callouts.append(callout) }
    }

    func didCallOut(_ callout: Callout) {
        // The recorder may have been attached inside the handler.
        guard !callouts.isEmpty else { return }
        activity.countCallout()
        let time = now()
        endPeriod(at: time)
        beginPeriod(at: time) { removeCallout(at: time) }
    }

    func removeCallout(at time: Int64) {
        callouts.removeLast()
        // A host made passes inside the handler, as no run that ends.
        if callouts.count < run.depth { endRun(at: time) }
    }

    @inline(never)
    private func enterThread() {
        prepareThread()
        thread.store(System.kernelThreadNumber, ordering: .relaxed)
    }

    private var isInHandler: Bool { callouts.count > run.depth }

    private var phase: Phase { isInHandler ? .handler : run.phase }

    // An event, in the steps above.

    /// Step 0.
    func endPeriod(at time: Int64) {
        activity.account(until: time)
        let start = since.load(ordering: .relaxed)
        guard start != LoopRecorder.never, time.subtractingSaturating(start) >= threshold else { return }
        noteStall(from: start, until: time)
    }

    /// The other steps.
    @inline(__always)
    func beginPeriod(at time: Int64, _ body: () -> Void) {
        if since.load(ordering: .relaxed) != LoopRecorder.never { endHandler() }
        body()
        let phase = phase
        // Release: a thread that reads the new phase reads the new times afterwards.
        activity.phase.store(phase, ordering: .releasing)
        if phase == .handler { since.store(time, ordering: .releasing) }
    }

    /// Steps 1 to 3.
    private func endHandler() {
        since.store(LoopRecorder.never, ordering: .relaxed)
        mark.store(mark.load(ordering: .relaxed) &+ 1, ordering: .sequentiallyConsistent)
        // Also acquires: the watcher has read before the change.
        readers.waitUntilNone()
    }

    /// Keeps a stall that ends with the event that is being made, with its true end.
    @inline(never)
    private func noteStall(from start: Int64, until end: Int64) {
        let stall = Ended(mark: mark.load(ordering: .relaxed), start: start, end: end, handler: handler)
        lock.withLock {
            lastEnded = stall.mark
            if ended.count < LoopRecorder.capacity { ended.append(stall) }
        }
    }

    /// The handler that runs now.
    private var handler: Handler { Handler(callout: callouts.last!, mode: run.mode, nesting: outerRuns.count) }

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
        let name = whileInHandler(mark) { handler, _ in handler.callout.name }
        return name.map { "\($0) for \(Duration.nanoseconds(max(0, now().subtractingSaturating(since))))" }
    }

    /// Whether the handler with this mark, a stall, ran at a time that is over: it still does, or it has ended later.
    /// Called before its end is taken.
    func wasInHandler(_ number: UInt64, at time: Int64) -> Bool {
        if mark.load(ordering: .acquiring) == number { return true }
        return lock.withLock { ended.contains { $0.mark == number && time <= $0.end } }
    }

    /// Calls `body` if the handler with this mark still runs. The handler cannot return meanwhile, so be quick.
    func whileInHandler<Result>(_ number: UInt64, _ body: (Handler, _ thread: Int32) -> Result) -> Result? {
        readers.enter()
        defer { readers.leave() }
        guard mark.load(ordering: .sequentiallyConsistent) == number else { return nil }
        return body(handler, thread.load(ordering: .relaxed))
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
