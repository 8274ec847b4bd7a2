import Synchronization

/// A clock whose time passes only when nothing else is left to do: for tests that neither sleep nor depend on the
/// machine's speed. Any thread may call everything here, and several loops can share a clock.
///
/// A loop made with it moves the clock to its next deadline instead of sleeping until then. See
/// <doc:TestingInVirtualTime>.
///
/// ```swift
/// let clock = VirtualClock()
/// let loop = Loop(clock: clock)
/// loop.add(Loop.Timer(after: .seconds(3600)) { _ in print("an hour later") }, in: .default)
/// loop.run()  // prints at once
/// print(clock.now)  // 3600000000000 ns
/// ```
///
/// *Automatic* time jumps whenever every loop on the clock that is in a run is idle: asleep, with nothing ready and no
/// wake-up.
///
/// - If runs of several loops on one thread are nested, the innermost counts.
/// - Before another thread gives a loop work, take a ``hold()``: no time passes while one exists.
/// - A run that has nothing to wait for returns at once, whatever its limit, and no time passes: ``advance(by:)`` makes
///   it pass.
///
/// *Manual* time moves only by ``VirtualClock/advance(by:)``.
public final class VirtualClock: @unchecked Sendable {
    /// What moves the time.
    public enum Advance: Sendable {
        /// The loops, which jump to the next deadline whenever they are idle.
        case automatic
        /// Calls of ``VirtualClock/advance(by:)``.
        case manual
    }

    /// A loop that sleeps on this clock.
    private struct Sleeper {
        let loop: ObjectIdentifier
        let thread: ThreadID
        /// False for a hosted loop: its thread continues in the host.
        let blocksThread: Bool
        let waker: any Wakeable
        let deadline: Int64
        let poller: Descriptor

        /// Whether it has nothing to do.
        var isQuiet: Bool { waker.isAsleep && !System.isReadable(poller) }
    }

    /// No deadline from here on ever comes: a stopped timer has this one (`DeadlineHeap.stopped`). The time and the
    /// wall clock stay before it.
    private static let never = Int64.max - 1

    private let lock = Lock(.clock)
    private let changed = Condition()

    // Guarded by `lock`.
    private var time: Int64 {
        didSet {
            history.record(time)
            published.store(time, ordering: .relaxed)
        }
    }
    private var history: TimeHistory
    /// The latest time that a jump may reach. Manual clocks raise it step by step.
    private var limit: Int64
    private var holds = 0
    /// How far the wall clock is ahead of `time`.
    private var lead: Int64 = 0
    private var attached: [(id: ObjectIdentifier, loop: () -> (any ClockedLoop)?)] = []
    /// The threads of the loops that are in a run or hosted, with one element for each loop. The time jumps only while
    /// all of them sleep.
    private var runs: [ThreadID] = []
    private var sleepers: [Sleeper] = []
    private let advance: Advance

    /// A copy of `time`, for a monitor that is notified while locks are held. Relaxed: it publishes nothing.
    private let published: Atomic<Int64>

    /// Makes a clock.
    ///
    /// - Parameters:
    ///   - advance: What moves the time.
    ///   - start: The first instant.
    public init(_ advance: Advance = .automatic, startingAt start: Loop.Instant = Loop.Instant(nanoseconds: 0)) {
        self.advance = advance
        self.time = min(start.nanoseconds, VirtualClock.never - 1)
        self.published = Atomic(time)
        self.history = TimeHistory(startingAt: time)
        self.limit = advance == .automatic ? .max : time
    }

    /// The virtual time.
    public var now: Loop.Instant { Loop.Instant(nanoseconds: lock.withLock { time }) }

    /// The virtual time on the clock of a time base. The wall clock begins with the same time as the others, and
    /// differs once it was set.
    public func now(_ base: Loop.TimeBase) -> Loop.Instant {
        guard base == .wallClock else { return now }
        return Loop.Instant(nanoseconds: lock.withLock { min(time.addingSaturating(lead), VirtualClock.never - 1) })
    }

    /// How far the wall clock is ahead of the virtual time.
    var wallClockLead: Int64 { lock.withLock { lead } }

    /// Sets the wall clock, as a person or a time service sets that of a machine: see ``Loop/TimeBase/wallClock``. The
    /// virtual time does not change, and the two advance together.
    ///
    /// ```swift
    /// clock.setWallClock(to: clock.now(.wallClock) - .seconds(3600))  // an hour back
    /// ```
    ///
    /// When this returns, the timers of all loops on the clock are due by the new time.
    public func setWallClock(to time: Loop.Instant) {
        Lock.assertNoneHeld()  // The last reference to a loop may be released here.
        // No time passes before all loops follow.
        let hold = hold()
        let loops = lock.withLock {
            lead = time.nanoseconds.subtractingSaturating(self.time)
            return attached
        }
        for loop in loops { loop.loop()?.followWallClock() }
        hold.release()
    }

    /// The virtual time in nanoseconds, read without a lock.
    package var nanosecondsWithoutLock: Int64 { published.load(ordering: .relaxed) }

    /// The virtual time at which a turn was taken.
    func nanoseconds(atTurn turn: UInt64) -> Int64 { lock.withLock { history.time(atTurn: turn) } }

    // MARK: Holding

    /// Keeps the time of a clock from jumping for as long as it lives, or until it is released.
    public final class Hold: @unchecked Sendable {
        private let clock: VirtualClock
        /// Guarded by the clock's lock.
        fileprivate var isReleased = false

        fileprivate init(_ clock: VirtualClock) { self.clock = clock }

        /// Releases the hold. A second call does nothing.
        public func release() { clock.release(self) }

        deinit { release() }
    }

    /// Keeps the time from jumping while the caller or another thread still has work to hand to a loop.
    public func hold() -> Hold {
        lock.withLock { holds += 1 }
        return Hold(self)
    }

    private func release(_ hold: Hold) {
        lock.withLock {
            guard !hold.isReleased else { return }
            hold.isReleased = true
            holds -= 1
            jumpIfIdle()
        }
    }

    // MARK: Moving the time by hand

    /// As `advance(by:)`, for the calling thread.
    func advance(by nanoseconds: Int64, on thread: ThreadID) {
        // A thread that the clock counts as busy would wait for itself.
        guard advance == .manual, !countsRun(on: thread) else { return pass(nanoseconds) }
        Lock.assertNoneHeld()  // The last reference to a loop may be released here: it ends, and detaches itself.
        let (start, target, loops) = lock.withLock { (time, time(after: nanoseconds), attached) }
        let ownLoops = loops.compactMap { $0.loop() }.filter(\.isOnOwnThread)
        // Not retained: their threads may release them meanwhile.
        let unserved = loops.filter { $0.loop()?.isServed == false }
        serve(ownLoops, until: target)
        lock.withLock {
            limit = max(limit, target)
            jumpIfIdle()
            while time < target || !isIdle { changed.wait(with: lock) }
        }
        for loop in unserved { loop.loop()?.reportIfUnserved(after: start, until: target) }
    }

    /// Runs the caller's own loops until a time on a manual clock. They take turns, so that none moves the time past a
    /// deadline of another.
    private func serve(_ loops: [any ClockedLoop], until target: Int64) {
        var now = lock.withLock { time }
        while let next = loops.compactMap({ $0.nextWakeUpTime }).filter({ $0 > now }).min(), next < target {
            lock.withLock { limit = max(limit, next) }
            for loop in loops { loop.serve(until: next) }
            let reached = lock.withLock { time }
            // Something keeps the loops from running, such as an observer that stops every run.
            if reached == now { break }
            now = reached
        }
        lock.withLock { limit = max(limit, target) }
        for loop in loops { loop.serve(until: target) }
    }

    /// Moves the time without serving anything.
    private func pass(_ nanoseconds: Int64) {
        lock.withLock {
            time = time(after: nanoseconds)
            limit = max(limit, time)
            wakeTheDue()
        }
    }

    // MARK: Settling

    /// The instant that `advance(by:)` reaches now.
    func target(after nanoseconds: Int64) -> Int64 { lock.withLock { time(after: nanoseconds) } }

    /// The first deadline after now and not after `target`: of a loop that sleeps, or of one of the calling thread.
    func nextDeadline(through target: Int64) -> Int64? {
        let (now, loops, asleep) = lock.withLock { (time, attached, sleepers.map(\.deadline)) }
        let own = loops.compactMap { $0.loop() }.filter(\.isOnOwnThread).compactMap(\.nextWakeUpTime)
        return (own + asleep).filter { $0 > now && $0 <= target }.min()
    }

    /// Whether a loop of the calling thread has something to do at once.
    var hasWorkHere: Bool {
        let loops = lock.withLock { attached }
        return loops.compactMap { $0.loop() }.contains { $0.isOnOwnThread && $0.hasWorkNow }
    }

    /// The passes of the loops of other threads. What one has done before it sleeps is counted, for a caller that has
    /// found it asleep.
    var passesElsewhere: Int {
        let loops = lock.withLock { attached }
        return loops.compactMap { $0.loop() }.reduce(0) { $0 + ($1.isOnOwnThread ? 0 : $1.passCount) }
    }

    /// The end of time is never reached: a deadline there never comes.
    private func time(after nanoseconds: Int64) -> Int64 {
        min(time.addingSaturating(nanoseconds), VirtualClock.never - 1)
    }

    // MARK: For loops

    func attach(_ loop: some ClockedLoop) {
        lock.withLock { attached.append((ObjectIdentifier(loop), { [weak loop] in loop })) }
    }

    func detach(_ id: ObjectIdentifier) {
        lock.withLock {
            attached.removeAll { $0.id == id }
            // Its thread may have been cancelled in its sleep.
            sleepers.removeAll { $0.loop == id }
        }
    }

    /// Adds or removes a loop of a thread that must sleep before the time may jump.
    func beginRun(on thread: ThreadID) { lock.withLock { runs.append(thread) } }

    func endRun(on thread: ThreadID) {
        lock.withLock {
            if let index = runs.firstIndex(of: thread) { runs.remove(at: index) }
            jumpIfIdle()
        }
    }

    /// Whether the clock counts a run or a hosting on the thread, for tests.
    func countsRun(on thread: ThreadID) -> Bool { lock.withLock { runs.contains(thread) } }

    /// Records that `loop` is about to sleep until `deadline`. Returns false if the time has reached it: then the loop
    /// must not sleep.
    ///
    /// - Parameter blocksThread: Whether its thread sleeps too. The thread of a hosted loop does not.
    func sleep(_ loop: some ClockedLoop, until deadline: Int64, on poller: Descriptor, blocksThread: Bool = true)
        -> Bool
    {
        lock.withLock {
            if deadline <= time { return false }
            let id = ObjectIdentifier(loop)
            sleepers.append(
                Sleeper(
                    loop: id, thread: loop.owner, blocksThread: blocksThread, waker: loop.wakeable, deadline: deadline,
                    poller: poller))
            jumpIfIdle(callerIsAwake: id)
            return sleepers.contains { $0.loop == id }
        }
    }

    /// Records that `loop` no longer sleeps.
    func awake(_ loop: some ClockedLoop) {
        lock.withLock { sleepers.removeAll { $0.loop == ObjectIdentifier(loop) } }
    }

    // MARK: Jumping

    /// Whether every running loop sleeps with nothing to do.
    private var isIdle: Bool { holds == 0 && runs.allSatisfy(isIdle) }

    private func isIdle(_ thread: ThreadID) -> Bool {
        // If one loop blocks the thread, no other of the thread is busy: their runs and passes have called it. A hosted
        // loop of the thread wakes the host that watches its descriptor, or must wait.
        if let sleeper = sleepers.first(where: { $0.thread == thread && $0.blocksThread }) { return sleeper.isQuiet }
        let resting = sleepers.filter { $0.thread == thread }
        return resting.count == runs.count { $0 == thread } && resting.allSatisfy(\.isQuiet)
    }

    private func jumpIfIdle(callerIsAwake caller: ObjectIdentifier? = nil) {
        lock.assertHeld()
        // Usually one iteration, since a woken loop is busy. A hosted loop is not if its thread sleeps elsewhere.
        while isIdle {
            let next = sleepers.lazy.map(\.deadline).min() ?? VirtualClock.never
            guard next <= limit, next < VirtualClock.never else {
                if advance == .manual { time = max(time, limit) }
                return changed.broadcast()
            }
            time = max(time, next)
            wakeTheDue(callerIsAwake: caller)
        }
    }

    private func wakeTheDue(callerIsAwake caller: ObjectIdentifier? = nil) {
        lock.assertHeld()
        for sleeper in sleepers where sleeper.deadline <= time && sleeper.loop != caller { sleeper.waker.nudge() }
        sleepers.removeAll { $0.deadline <= time }
    }
}
