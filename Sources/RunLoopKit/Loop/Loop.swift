import Synchronization

/// A run loop: waits for events on one thread and hands them to handlers, one at a time.
///
/// Every thread has one, `Loop.current`, made when first asked for. A loop does nothing until its thread runs it; then
/// it goes through passes, sleeping between them until a source, a timer or a posted block needs it, and returns when
/// it is stopped, when the time is up, or when nothing is left that could ever happen, which on `Loop.main`, since it
/// serves the main queue, is never. What belongs to which *mode* decides what a run looks at. CF: `CFRunLoop`.
///
/// ```swift
/// let loop = Loop.current
/// loop.add(Loop.Timer(every: .seconds(1)) { _ in print("tick") }, in: .default)
/// loop.run()
/// ```
///
/// **Threads.** Everything here may be called from any thread but for `run`, which belongs to the loop's own, and traps
/// elsewhere. Handlers run on the loop's thread with no lock held, so they may do anything: add, remove and invalidate,
/// also themselves; run the loop, nested; stop it. They are `@Sendable`: see `Loop.main` for those that touch the main
/// actor's state, and `Timer.init(after:repeating:tolerance:timeBase:isolation:handler:)` for those that touch another
/// actor's.
///
/// **Lifetime.** A loop retains the items in it. When its thread ends the loop ends too: its items leave it, sources'
/// cancel handlers run, posted blocks that never ran are dropped, and its descriptors are closed. An ended loop refuses
/// everything: `add` and `perform` return false, `run` returns `finished`.
///
/// **Processes.** In a child made by `fork` that does not call exec, a loop of its parent's refuses everything, and
/// `run` traps; a handler that forks must not return in the child. Nothing that the child does reaches the parent's
/// loops. The child may make what it needs anew: `Loop.current` is a loop of its own there. A thread that is cancelled
/// (`pthread_cancel`) ends at the wait of a run, and its loop with it; in all other calls it goes on.
public final class Loop: @unchecked Sendable {
    // For the maintainer. Four kinds of state:
    // - constants;
    // - atomics, for any thread, some also for signal handlers;
    // - what `lock` guards;
    // - what only the loop's own thread touches: `own`.
    // `LockRank` is the order of locks. No handler is ever called with one held.

    let clock: LoopTime

    /// The thread that the loop belongs to.
    let owner: ThreadID

    /// The process that the loop belongs to: its forked children cannot use it.
    let process = ProcessMark.current

    /// Whether a virtual clock counts the loop's thread as busy also between runs, as it does for a `LoopThread`.
    let informsClockBetweenRuns: Bool

    // MARK: Atomics

    let waker = Waker()
    let tally = Tally()

    /// What Swift concurrency has handed over: the loop is an executor.
    let jobs = JobQueue()

    /// Written with the lock held.
    let lifecycle = Atomic<Lifecycle>(.open)

    /// Of the innermost run; the runs below it keep theirs (`Run.stopFlagBelow`).
    let stopFlag = Atomic<StopFlag>(.noRun)

    /// What `isWaiting` says. Only the loop's thread changes it.
    let waiting = Atomic<Bool>(false)

    /// Whether any block is posted. Written with the lock held, after the list; read without it, by a pass that would
    /// rather not take the lock for nothing. Relaxed: the wake word orders it.
    let hasBlocks = Atomic<Bool>(false)

    // MARK: Guarded by the lock

    let lock = Lock(.loop)
    var modeStates: [ModeState] = []
    var commonModes: [Mode] = [.default]
    var commonItems: [Item] = []
    /// Stands for membership in `common`, which is not a mode: no item is ever put into it.
    var commonMembership: ModeState?
    var blocks = BlockQueue()
    var endHandlers: [ObjectIdentifier: EndHandler] = [:]
    var madeTaskExecutor: LoopTaskExecutor?
    /// What the loop, or its host, sleeps on. Nil while it is awake.
    var sleep: Sleep?
    var timerFDs = TimerFDs()
    /// Written by the loop's thread only, which may read it without the lock.
    var innermostRun: Run?

    // MARK: The loop's own thread's

    private let ownThreadState = OwnThreadState()

    /// What only the loop's own thread touches.
    var own: OwnThreadState {
        assertOnOwnThread()
        return ownThreadState
    }

    // MARK: Making one

    /// Makes a loop that runs in virtual time, for the calling thread. See `VirtualClock`.
    ///
    /// It exists beside the thread's own loop: inside its handlers `Loop.current` is this one. It ends by `end()`, or
    /// when the last reference to it goes; a handler that captures the loop it is in keeps both alive until it is
    /// invalidated or the loop ended.
    public convenience init(clock: VirtualClock) {
        self.init(clock: .virtual(clock), owner: ThreadLoops.current.id)
    }

    init(clock: LoopTime, owner: ThreadID, informsClockBetweenRuns: Bool = false) {
        self.clock = clock
        self.owner = owner
        self.informsClockBetweenRuns = informsClockBetweenRuns
        _ = lock.withLock { state(for: .default) }
        if case .virtual(let clock) = clock { clock.attach(self) }
    }

    deinit { end(tellingSources: false) }

    /// The calling thread's loop, made on first use. Inside a handler: the loop that called it. CF:
    /// `CFRunLoopGetCurrent`.
    ///
    /// Cheap, but not free: keep it in a constant where it is needed often. Never nil, and never fails: a loop that has
    /// not run owns no descriptors. After an `await` a task may be on another thread, and this be that thread's loop,
    /// which nobody runs; so also in a `main.swift` with an `await` at top level. Use a `LoopThread` there.
    public static var current: Loop { ThreadLoops.current.loop }

    /// The loop of the process's initial thread. From any thread; made on first use, so not first in a signal handler.
    ///
    /// In its common modes it also drains the main dispatch queue, and so the main actor's. In a program with
    /// libdispatch, which Swift concurrency brings along, a run in a common mode therefore never finishes for lack of
    /// work: stop it, or give it a time limit. CF: `CFRunLoopGetMain`.
    ///
    /// Handlers are `@Sendable`, and here they run on the main actor's thread. To touch the main actor's state, such as
    /// the variables of `main.swift`, say so:
    ///
    /// ```swift
    /// var count = 0
    /// let timer = Loop.Timer(every: .seconds(1)) { _ in MainActor.assumeIsolated { count += 1 } }
    /// Loop.main.add(timer, in: .common)
    /// ```
    ///
    /// Somebody has to run it, or host it (`beginHosting(_:)`). In a program that has given the initial thread away, by
    /// `dispatchMain()`, by an async main function or a top-level `await` that has suspended, or because a test runner
    /// did so, nobody can: the loop ends then, refuses work, and says so once on stderr. When it is first asked for on
    /// another thread, that is found out a moment later: what was given to it until then was accepted, and is dropped.
    public static let main: Loop = {
        let main = Loop(clock: .monotonic, owner: .initial)
        if System.isInitialThread { ThreadLoops.current.adopt(main) } else { findOutWhetherMainCanRun() }
        return main
    }()

    /// Whether the caller is on the loop's own thread.
    public var isOnOwnThread: Bool { ThreadLoops.current.id == owner }

    /// Whether this is `Loop.main`, without making that.
    var isMain: Bool { owner == .initial && !clock.isVirtual }

    // MARK: Asking

    /// Now, on the loop's clock.
    public var now: Instant { Instant(nanoseconds: clock.nanoseconds) }

    /// The mode of the innermost run, or nil when the loop does not run. CF: `CFRunLoopCopyCurrentMode`.
    public var currentMode: Mode? { lock.withLock { innermostRun?.mode.mode } }

    /// The modes that exist in the loop, in the order in which they came to be: default first, and those in which
    /// something was ever added or posted. CF: `CFRunLoopCopyAllModes`.
    public var modes: [Mode] { lock.withLock { modeStates.map(\.mode) } }

    /// Whether the loop is asleep, or looking whether it has to: inside a run, after the `beforeWaiting` observers and
    /// before the `afterWaiting` ones. CF: `CFRunLoopIsWaiting`.
    public var isWaiting: Bool { waiting.load(ordering: .relaxed) }

    /// When the first timer of `mode` is to fire, on the loop's clock; nil when there is none. Inside a timer's
    /// handler, the time it was due at counts too. For a timer on the continuous clock: if the machine stays awake. CF:
    /// `CFRunLoopGetNextTimerFireDate`.
    public func nextTimerFireTime(in mode: Mode) -> Instant? {
        lock.withLock {
            guard let state = existingState(for: mode) else { return nil }
            let firing = (innermostRun?.stack.compactMap(\.firing) ?? []).filter { $0.isIn(state) }.map {
                $0.timeBase == .continuous ? onOwnClock($0.servedOrNextTime) : $0.servedOrNextTime
            }
            let first = min(earliestDeadline(in: state), firing.min() ?? TimerHeap.never)
            return first == TimerHeap.never ? nil : Instant(nanoseconds: first)
        }
    }

    // MARK: Waking and stopping

    /// Wakes the loop if it sleeps; if it is in a run and awake, its next wait returns at once. A loop that does not
    /// run, or that is just about to begin a pass, takes no notice: it is going to look at everything anyway.
    ///
    /// From any thread, also from a Unix signal handler: no lock, no allocation, errno kept. CF: `CFRunLoopWakeUp`.
    public func wakeUp() { waker.wake() }

    /// Makes the innermost active run return `stopped` at the end of its pass. Ignored when no run is active, so a stop
    /// that comes between two runs is lost: one that must not be is sent to a port whose handler stops the loop.
    ///
    /// From any thread, also from a Unix signal handler: no lock, no allocation, errno kept. CF: `CFRunLoopStop`.
    public func stop() {
        // Release, so that the run's end sees what the caller did before; with the flag set, wake it.
        let change = stopFlag.compareExchange(
            expected: .running, desired: .stopped, successOrdering: .releasing, failureOrdering: .relaxed)
        if change.exchanged { waker.wake() }
    }
}
