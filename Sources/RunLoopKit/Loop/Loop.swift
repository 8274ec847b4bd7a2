import Synchronization

/// A run loop: waits for events on one thread and calls their handlers, one at a time. Any thread may call everything
/// here, except what a page keeps for one thread. CF: `CFRunLoop`.
///
/// Every thread has a loop, ``Loop/current``, made on first use. Its thread runs it. It then makes passes, and sleeps
/// between them until an item or a posted block needs it. A run serves only what is in its *mode*. It returns when it
/// is stopped, when its time is up, or when nothing is left to wait for: <doc:HowARunLoopWorks>.
///
/// ```swift
/// let loop = Loop.current
/// loop.add(Loop.Timer(every: .seconds(1)) { _ in print("tick") }, in: .default)
/// loop.run()
/// ```
///
/// **Threads.** `run`, `prepare`, `end` and hosting are for the loop's own thread, and some calls for the initial
/// thread; they trap elsewhere. <doc:SignalsThreadsForkCancellation#Safe-where> has the table.
///
/// **Handlers** run on the loop's thread with no lock held. They may add, remove and invalidate items, even their own,
/// run the loop nested, and stop it. (Only `end`, `hosting.begin` and `runMain` trap inside a run.) They are
/// `@Sendable`; for handlers of actors, see ``Loop/Item`` and ``Loop/main``.
///
/// **Lifetime.** A loop retains its items, and ends with its thread. Its items leave it, the cancel handlers of
/// ``Loop/Source0``s run, posted blocks that never ran are dropped, and its descriptors are closed. (A ``LoopThread``
/// first runs accepted blocks, unless ``LoopThread/stop(discardingPending:)`` stops it.) An ended loop refuses
/// everything: `add` and `perform` return false, `run` returns `finished`.
///
/// **Processes and cancelled threads:** <doc:SignalsThreadsForkCancellation#Fork>,
/// <doc:SignalsThreadsForkCancellation#Cancelled-and-exiting-threads>.
public final class Loop: @unchecked Sendable {
    // For the maintainer. Four kinds of state:
    // - constants;
    // - atomics, which any thread may access, and some signal handlers too;
    // - what `lock` guards;
    // - what only the loop's own thread accesses: `own`.
    // `Lock.Rank` is the order of locks. No handler is ever called with one held.

    package let clock: LoopTime

    /// The thread that the loop belongs to.
    let owner: ThreadID

    /// Whether `owner` is the initial thread of `process`, and the loop is not one in virtual time.
    let isOfInitialThread: Bool

    /// Whether the thread is one that Swift concurrency lends to tasks, which as a rule do not run its loop.
    let isOfTaskThread: Bool
    let isWatchedAsUnrun = Atomic<Bool>(false)

    /// The thread's name when the loop was made, for people: unprintable characters are escaped.
    package let threadName: String

    /// The process that the loop belongs to. Its forked children cannot use the loop.
    let process = ProcessMark.current

    /// Whether a `LoopThread` runs it, again after each stop. Between runs, too, a virtual clock counts that as busy.
    let isOfLoopThread: Bool

    // MARK: Atomics

    let waker = Waker()
    let tally = Tally()

    /// The jobs that Swift concurrency has enqueued: the loop is an executor.
    let jobs: JobQueue

    /// Whether any diagnostic watches the loop. Relaxed: attaching one does not wait for the loop to notice.
    let isMonitored = Atomic<Bool>(false)

    /// The value of `spinDuration`.
    let spinNanoseconds = Atomic<Int64>(0)

    /// Written with the lock held.
    let lifecycle = Atomic<Lifecycle>(.open)

    /// The innermost run's stop flag. The runs below it keep theirs in `Run.stopFlagBelow`.
    let stopFlag = Atomic<StopFlag>(.noRun)

    /// The value of `isWaiting`. Only the loop's thread changes it.
    let waiting = Atomic<Bool>(false)

    /// The number of posted blocks in the queues. Written with the lock held. A pass reads it without the lock, so that
    /// it takes the lock only if there are blocks. Relaxed: the wake word orders it.
    let queuedBlocks = Atomic<Int>(0)

    /// The number of blocks in the batches of the active runs, for diagnostics. Written by the loop's thread. Relaxed.
    let takenBlocks = Atomic<Int>(0)

    // MARK: Guarded by the lock

    // Exclusivity is unchecked, as in `ModeState`: debug builds check that the lock is held, and it is not recursive,
    // so accesses cannot overlap. The checks cost a third of a pass.

    /// The waker has it, so that an item can leave a mode without a reference to the loop.
    var lock: Lock { @inline(__always) _read { yield waker.lock } }
    /// The state of the default mode, which always exists. Constant, so that reading it retains nothing.
    let defaultState: ModeState
    /// The modes that exist, in order of creation, and by their names.
    @exclusivity(unchecked) var modeStates: [ModeState] = []
    @exclusivity(unchecked) var statesByMode: [Mode: ModeState] = [:]
    @exclusivity(unchecked) var commonModes = CommonModes()
    /// The sequence number of the item that was added to `common` last: see CommonItems.swift.
    @exclusivity(unchecked) var lastCommonTurn: UInt64 = 0
    /// Represents `common`, which is not a mode: no run is in it.
    @exclusivity(unchecked) var commonMembership: ModeState?
    /// The number of the last block that was posted.
    @exclusivity(unchecked) var lastBlock: UInt64 = 0
    /// The number of the drain that was posted last (`postDrain()`). Zero if it ran inside a job, and did nothing.
    @exclusivity(unchecked) var lastDrain: UInt64 = 0
    /// Called when a run in a common mode begins inside a block: it does not see all blocks that were posted before.
    @exclusivity(unchecked) var nestedRunObserver: (@Sendable () -> Void)?
    @exclusivity(unchecked) var endHandlers: [ObjectIdentifier: EndHandler] = [:]
    @exclusivity(unchecked) var endListeners = EndListeners()
    @exclusivity(unchecked) var boundValues = BoundValues()
    /// The pools that limiters use.
    @exclusivity(unchecked) var timerPools: [TimerPool.Key: TimerPool] = [:]
    /// When the loop ended, for `explain(_:)`; nil before.
    @exclusivity(unchecked) var endTime: Instant?
    @exclusivity(unchecked) var madeTaskExecutor: LoopTaskExecutor?
    /// See `sleep`.
    @exclusivity(unchecked) var lastSleep: Sleep?
    @exclusivity(unchecked) var timerFDs = TimerFDs()
    /// Written only by the loop's thread, which may read it without the lock.
    @exclusivity(unchecked) var innermostRun: Run?

    // MARK: For the loop's own thread

    private let ownThreadState = OwnThreadState()

    /// The state that only the loop's own thread accesses.
    var own: OwnThreadState {
        assertOnOwnThread()
        return ownThreadState
    }

    // MARK: Making one

    /// Makes a loop that runs in virtual time, for the calling thread. See ``VirtualClock``.
    ///
    /// It exists beside the thread's own loop: inside its handlers ``Loop/current`` is this one. It ends when
    /// ``Loop/end()`` is called or its last reference is released. A handler that captures its own loop keeps both
    /// alive until it is invalidated or the loop ends.
    public convenience init(clock: VirtualClock) {
        self.init(clock: .virtual(clock), owner: ThreadLoops.currentID)
    }

    /// - Parameter threadName: The thread's name; nil if it is the calling thread.
    init(
        clock: LoopTime, owner: ThreadID, threadName: String? = nil, isOfLoopThread: Bool = false,
        isOfTaskThread: Bool = false
    ) {
        self.clock = clock
        self.owner = owner
        isOfInitialThread = owner == .initial && !clock.isVirtual
        self.isOfLoopThread = isOfLoopThread
        self.isOfTaskThread = isOfTaskThread
        jobs = JobQueue(of: waker)
        self.threadName = threadName?.printable ?? (owner == .initial ? "main" : System.threadName.printable)
        defaultState = ModeState(
            .default, isCommon: true, waker: waker, isVirtual: clock.isVirtual, threadOfLoop: owner,
            takesMainActor: isOfInitialThread || clock.isVirtual)
        // Only the loop runs its blocks, so it is alive then, without a retain.
        let alive = Unmanaged.passUnretained(self)
        jobs.drainBlock = { alive._withUnsafeGuaranteedRef { $0.drainJobs() } }
        defaultState.loop = self
        (modeStates, statesByMode) = ([defaultState], [.default: defaultState])
        LoopRegistry.shared.insert(self)
        if case .virtual(let clock) = clock { clock.attach(self) }
    }

    deinit {
        end(tellingSources: false)
        LoopRegistry.shared.remove(self)
    }

    /// The calling thread's loop, made on first use. Inside a handler, the loop that called it. CF:
    /// `CFRunLoopGetCurrent`.
    ///
    /// Each read is a thread-specific look-up: keep the result if you need it often. A loop that has not run owns no
    /// descriptors.
    ///
    /// **In tasks** use the loop of a ``LoopThread`` instead. After an `await`, even at the top level of `main.swift`,
    /// a task may be on another thread, which does not run its loop. What waits on a loop of Swift's own threads is
    /// reported after two seconds: ``Loop/Mistake/loopThatNeverRuns(item:)``.
    public static var current: Loop { ThreadLoops.current.loop }

    /// The loop of the process's initial thread, made on first use. The initial thread must run it
    /// (``Loop/runMain(_:)`` in asynchronous programs), or host it (``Loop/HostFunctions/begin(in:)``). From any
    /// thread; in a signal handler only if it has been used before. CF: `CFRunLoopGetMain`.
    ///
    /// In its common modes it drains the main dispatch queue, too, which is the main actor's. In a program with
    /// libdispatch, which Swift concurrency links, a run in a common mode therefore never finishes for lack of work:
    /// stop it, or give it a time limit.
    ///
    /// Its handlers run on the main actor's thread. A handler that accesses the main actor's state, such as the
    /// variables of `main.swift`, says so:
    ///
    /// ```swift
    /// var count = 0
    /// let timer = Loop.Timer(every: .seconds(1), isolation: .shared) { _ in count += 1 }
    /// Loop.main.add(timer, in: .common)
    /// ```
    ///
    /// If the initial thread has been given away, no thread can run the loop:
    /// <doc:Hosting#A-main-loop-that-no-thread-can-run>. It ends, refuses work, and reports that once on stderr. If
    /// another thread makes the loop, the library finds this out a moment later, and drops the work accepted until
    /// then.
    ///
    /// A forked child has a main loop of its own, for the thread that forked:
    /// <doc:SignalsThreadsForkCancellation#Fork>.
    public static var main: Loop { mainOfProcess.object }

    private static let mainOfProcess = OnePerProcess<Loop> { _ in
        let main = Loop(clock: .monotonic, owner: .initial)
        // A thread with a state ends its loop with itself.
        if System.isInitialThread { _ = ThreadLoops.current } else { findOutWhetherMainCanRun() }
        return main
    }

    /// Whether the caller is on the loop's own thread.
    public var isOnOwnThread: Bool { ThreadLoops.currentID == owner }

    /// Whether this is `Loop.main`. Does not make that loop.
    var isMain: Bool { isOfInitialThread && process.isCurrent }

    // MARK: Asking

    /// Now, on the loop's clock.
    public var now: Instant { Instant(nanoseconds: clock.nanoseconds) }

    /// The mode of the innermost run; nil if the loop does not run. CF: `CFRunLoopCopyCurrentMode`.
    public var currentMode: Mode? { lock.withLock { hasEnded ? nil : innermostRun?.mode.mode } }

    /// The modes that exist in the loop, in order of creation: first the default mode, then those in which something
    /// was ever added or posted. CF: `CFRunLoopCopyAllModes`.
    public var modes: [Mode] { lock.withLock { modeStates.map(\.mode) } }

    /// Whether the loop sleeps or is about to: inside a run, after the `beforeWaiting` observers and before the
    /// `afterWaiting` observers. CF: `CFRunLoopIsWaiting`.
    public var isWaiting: Bool {
        // A thread that was cancelled in its sleep has left the flag.
        waiting.load(ordering: .relaxed) && !hasEnded
    }

    /// When the first timer of `mode` fires, on the loop's clock; nil if there is none. From any thread. CF:
    /// `CFRunLoopGetNextTimerFireDate`.
    ///
    /// Inside a timer's handler, this includes the time at which that timer was due, unless it is restartable. For a
    /// timer on another clock, this assumes that the machine stays awake, and that its wall clock is not set.
    public func nextTimerFireTime(in mode: Mode) -> Instant? {
        lock.withLock {
            guard let state = existingState(for: mode) else { return nil }
            let firing = (innermostRun?.stack.compactMap(\.firing) ?? []).filter { $0.isIn(state) }.map {
                onOwnClock($0.servedOrNextTime, from: $0.timeBase)
            }
            let first = min(earliestDeadline(in: state), firing.min() ?? TimerHeap.never)
            return first == TimerHeap.never ? nil : Instant(nanoseconds: first)
        }
    }

    // MARK: Waking and stopping

    /// Wakes the loop if it sleeps. From any thread, even in a Unix signal handler: it takes no lock, allocates nothing
    /// and keeps errno. CF: `CFRunLoopWakeUp`.
    ///
    /// If the loop is in a run and awake, its next wait returns at once. If it does not run, or is about to begin a
    /// pass, which looks at all work, this does nothing.
    public func wakeUp() { waker.wake() }

    /// Makes the innermost active run return `stopped` at the end of its pass. From any thread, even in a Unix signal
    /// handler: it takes no lock, allocates nothing and keeps errno. CF: `CFRunLoopStop`.
    ///
    /// - *Between two runs* a stop is lost. If it must not be, send to a port whose handler stops the loop, or post a
    ///   block that does. One that precedes the loop's first run is reported by ``Loop/run()``:
    ///   ``Loop/Mistake/stopBeforeRun(thread:)``.
    /// - *While the loop is hosted,* a stop between two passes is kept: the next pass returns ``HostedResult/stopped``,
    ///   and the host decides what that means.
    /// - *Under ``Loop/runMain(_:)``* a stop cancels the task of its body.
    /// - *A ``LoopThread``* begins another run: [`LoopThread.stop()`](doc:LoopThread/stop()) ends it.
    public func stop() {
        // Release: the end of the run sees what the caller did before. The flag is set before the wake-up.
        let change = stopFlag.compareExchange(
            expected: .running, desired: .stopped, successOrdering: .releasing, failureOrdering: .relaxed)
        if change.exchanged { return waker.wake() }
        if change.original == .noRun, !hasEverRun { noteLostStop() }
    }

    /// Not through `own`, which asserts the thread: that may allocate, and this may be a signal handler.
    @inline(never)
    private func noteLostStop() {
        let isOnThread = ThreadLoops.isKnown(as: owner) || isMain && System.isInitialThread
        if isOnThread { ownThreadState.hasLostStop = true }
    }
}
