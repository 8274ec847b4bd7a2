/// Time that passes only when nothing else is left to do: for tests that neither sleep nor depend on the machine's
/// speed.
///
/// A loop made with a virtual clock is an ordinary loop in every way but one: instead of waiting for its next deadline
/// it moves the clock there. Ports, signals and posts from other threads work in it.
///
/// ```swift
/// let clock = VirtualClock()
/// let loop = Loop(clock: clock)
/// loop.add(Loop.Timer(after: .seconds(3600)) { _ in print("an hour later") }, in: .default)
/// loop.run()  // prints at once
/// print(clock.now)  // 3600000000000 ns
/// ```
///
/// *Automatic* time jumps whenever every loop on the clock that is in a run is idle: asleep, with nothing ready and
/// nobody having woken it. Of several on one thread, one running in a handler of another, the innermost counts. If
/// another thread is about to give a loop work, take a `hold()` first: while there is one, time stands still.
///
/// *Manual* time moves only by `advance(by:)`.
///
/// Several loops can share a clock. Everything here may be called from any thread.
public final class VirtualClock: @unchecked Sendable {
    /// Who moves the time.
    public enum Advance: Sendable {
        /// The loops themselves, by jumping to the next deadline whenever they are idle.
        case automatic
        /// Whoever calls `advance(by:)`.
        case manual
    }

    /// How a loop on this clock sleeps.
    private struct Sleeper {
        let loop: ObjectIdentifier
        let thread: ThreadID
        /// False for a hosted loop, which rests while its thread does what the host wants.
        let blocksThread: Bool
        let waker: any Wakeable
        let deadline: Int64
        let poller: Descriptor

        /// Whether there is nothing to do for it.
        var isQuiet: Bool { waker.isAsleep && !System.isReadable(poller) }
    }

    /// A deadline that never comes.
    private static let never = Int64.max

    private let lock = Lock(.clock)
    private let changed = Condition()

    // Guarded by `lock`.
    private var time: Int64 { didSet { history.record(time) } }
    private var history: TimeHistory
    /// How far the time may jump: manual clocks raise it step by step.
    private var limit: Int64
    private var holds = 0
    private var attached: [(id: ObjectIdentifier, loop: () -> (any ClockedLoop)?)] = []
    /// The threads of the loops that are in a run or hosted, one entry for each; all of them must sleep before the time
    /// may jump.
    private var runs: [ThreadID] = []
    private var sleepers: [Sleeper] = []
    private let advance: Advance

    /// Makes a clock.
    ///
    /// - Parameters:
    ///   - advance: Who moves the time.
    ///   - start: The first instant; zero unless you say otherwise.
    public init(_ advance: Advance = .automatic, startingAt start: Loop.Instant = Loop.Instant(nanoseconds: 0)) {
        self.advance = advance
        self.time = min(start.nanoseconds, VirtualClock.never - 1)
        self.history = TimeHistory(startingAt: time)
        self.limit = advance == .automatic ? .max : time
    }

    /// The virtual time.
    public var now: Loop.Instant { Loop.Instant(nanoseconds: lock.withLock { time }) }

    /// The virtual time at which a turn was taken.
    func nanoseconds(atTurn turn: UInt64) -> Int64 { lock.withLock { history.time(atTurn: turn) } }

    // MARK: Holding

    /// Keeps the time of a clock from jumping for as long as it lives, or until it is released.
    public final class Hold: @unchecked Sendable {
        private let clock: VirtualClock
        private let lock = Lock(.leaf)
        private var isReleased = false

        fileprivate init(_ clock: VirtualClock) { self.clock = clock }

        /// Lets the time go on. A second call does nothing.
        public func release() {
            let isFirst = lock.withLock {
                defer { isReleased = true }
                return !isReleased
            }
            if isFirst { clock.releaseHold() }
        }

        deinit { release() }
    }

    /// Keeps the time from jumping, while the caller or another thread still has work to hand to a loop.
    public func hold() -> Hold {
        lock.withLock { holds += 1 }
        return Hold(self)
    }

    private func releaseHold() {
        lock.withLock {
            holds -= 1
            jumpIfIdle()
        }
    }

    // MARK: Moving the time by hand

    /// Lets time pass.
    ///
    /// On a *manual* clock the time goes from deadline to deadline, each served before the next, until `duration` has
    /// passed and the loops on the clock are idle. Zero or less waits for idleness only.
    ///
    /// - Called by a thread that runs no loop of this clock: waits for the loops' threads to get there.
    /// - Called by the thread that owns loops of this clock, outside a run: runs them, in the default mode.
    ///
    /// It waits for holds to be released: a caller that has one itself waits for ever.
    ///
    /// Called inside a handler, by the thread of a hosted loop (which its host serves), and on an *automatic* clock, it
    /// serves nothing: the time moves on as if the caller had taken that long. This is how a test makes a handler slow.
    public func advance(by duration: Duration) {
        let nanoseconds = max(0, duration.wholeNanoseconds)
        guard advance == .manual else { return pass(nanoseconds) }
        // Loops are looked at, and perhaps released, without the lock: one that ends comes back here.
        let loops = lock.withLock { attached }
        let ownLoops = loops.compactMap { $0.loop() }.filter(\.isOnOwnThread)
        if ownLoops.contains(where: \.isInRun) { return pass(nanoseconds) }
        let target = lock.withLock { time(after: nanoseconds) }
        serve(ownLoops, until: target)
        lock.withLock {
            limit = max(limit, target)
            jumpIfIdle()
            while time < target || !isIdle { changed.wait(with: lock) }
        }
    }

    /// Runs the caller's own loops until a time on a manual clock. They take turns: none may take the time past what
    /// another one waits for.
    private func serve(_ loops: [any ClockedLoop], until target: Int64) {
        var now = lock.withLock { time }
        while let next = loops.compactMap({ $0.nextWakeUpTime }).filter({ $0 > now }).min(), next < target {
            lock.withLock { limit = max(limit, next) }
            for loop in loops { loop.serve(until: next) }
            let reached = lock.withLock { time }
            // Something keeps the loops from running: an observer that stops every run, say.
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

    /// The end of time is never reached: what is due then never comes.
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
            // Its thread may have been cancelled as it slept.
            sleepers.removeAll { $0.loop == id }
        }
    }

    /// One loop more, or less, of a thread has to sleep before the time may jump.
    func beginRun(on thread: ThreadID) { lock.withLock { runs.append(thread) } }

    func endRun(on thread: ThreadID) {
        lock.withLock {
            if let index = runs.firstIndex(of: thread) { runs.remove(at: index) }
            jumpIfIdle()
        }
    }

    /// Records that `loop` is about to sleep until `deadline`. False when it need not: the time has jumped there.
    ///
    /// - Parameter blocksThread: Whether its thread sleeps too, or, for a hosted loop, goes on with something else.
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

    /// Records that `loop` does not sleep any more.
    func awake(_ loop: some ClockedLoop) {
        let id = ObjectIdentifier(loop)
        lock.withLock { sleepers.removeAll { $0.loop == id } }
    }

    // MARK: Jumping

    /// Whether every running loop sleeps with nothing to do.
    private var isIdle: Bool { holds == 0 && runs.allSatisfy(isIdle) }

    private func isIdle(_ thread: ThreadID) -> Bool {
        // Where one loop sleeps in earnest no other is busy: their runs and passes are what called it. A hosted one
        // that rests there wakes who watches its descriptor, or has to wait.
        if let sleeper = sleepers.first(where: { $0.thread == thread && $0.blocksThread }) { return sleeper.isQuiet }
        let resting = sleepers.filter { $0.thread == thread }
        return resting.count == runs.count { $0 == thread } && resting.allSatisfy(\.isQuiet)
    }

    private func jumpIfIdle(callerIsAwake caller: ObjectIdentifier? = nil) {
        lock.assertHeld()
        // Once as a rule: who is woken is busy. But not a hosted loop whose thread sleeps elsewhere.
        while isIdle {
            let next = sleepers.lazy.map(\.deadline).min() ?? VirtualClock.never
            guard next <= limit, next != VirtualClock.never else {
                if advance == .manual { time = max(time, limit) }
                return changed.broadcast()
            }
            time = max(time, next)
            wakeTheDue(callerIsAwake: caller)
        }
    }

    private func wakeTheDue(callerIsAwake caller: ObjectIdentifier? = nil) {
        lock.assertHeld()
        for sleeper in sleepers where sleeper.deadline <= time && sleeper.loop != caller {
            sleeper.waker.nudge()
        }
        sleepers.removeAll { $0.deadline <= time }
    }
}
