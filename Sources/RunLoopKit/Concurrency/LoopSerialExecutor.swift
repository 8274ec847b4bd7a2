/// A loop runs the jobs of actors: an actor whose executor is a loop lives on that loop's thread.
///
/// All of its code runs there, between the loop's timers, sources and blocks, and may use what belongs to the thread.
/// The actor has to keep its loop going: it holds the `LoopThread`.
///
/// ```swift
/// actor SerialPort {
///     private let thread: LoopThread
///     nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
///
///     init() throws { thread = try LoopThread(name: "serial port") }
///
///     func send(_ text: String) { print("on \(thread.name): \(thread.isCurrent)") }
/// }
///
/// let port = try SerialPort()
/// await port.send("hello")  // on serial port: true
/// ```
///
/// **Order.** Jobs of one priority run in the order in which they came. A higher priority goes first, but one job in
/// sixteen is the one that has waited longest, so none waits for ever. In which modes: in the common ones, as blocks
/// posted for `common` do.
///
/// **Others get their turn.** The jobs run in drains of at most `Loop.jobsPerDrain`; then the pass goes on, and what is
/// left runs when the loop next looks at its blocks. It does so in up to three places of a pass: so a pass runs at most
/// three drains, and looks at sources, ports, timers and the main queue meanwhile.
///
/// **Nested runs.** While a job runs no other begins, also not in a run of the loop nested in it: jobs would interrupt
/// actors in the middle of a function. The main dispatch queue is like that too.
///
/// **The end.** A job never vanishes, so whoever awaits it gets an answer. Those that came before a clean
/// `LoopThread.stop()` run before the thread ends. Those that come too late for that, and those left over by a stop that
/// discards, run once the loop has ended, one after the other, on a *thread of last resort*, made when first needed,
/// which then counts as the loop's. Ended loops share one, unless a job keeps it busy. That is said once on stderr for
/// each loop, since an actor that wants to be on its own thread is not.
///
/// **Lifetime.** Swift does not retain executors. A loop that is deallocated with jobs of an actor waiting traps and says
/// so: its actor did not hold it. Those of tasks that prefer the loop go to the thread of last resort.
extension Loop: SerialExecutor {
    /// Takes a job of an actor on this loop. Called by Swift, from any thread; never refused.
    public func enqueue(_ job: consuming ExecutorJob) { accept(UnownedJob(job)) }

    /// The loop as Swift refers to it, without retaining it: for an actor's `unownedExecutor`.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// True where the loop's jobs run: on its own thread, in whatever handler, or, once the loop has ended, in a job on the
    /// thread of last resort. This is what lets `assumeIsolated` work in a timer's handler. Nil everywhere else: Swift then
    /// calls `checkIsolated()`, whose message says what to do; an answer of false would end the program without it.
    public func isIsolatingCurrentContext() -> Bool? {
        if ThreadLoops.current.standsInFor === self { return true }
        return isOnOwnThread && !jobs.hasLostItsThread ? true : nil
    }

    /// Traps with a message unless `isIsolatingCurrentContext()` is true. Called by Swift for `assumeIsolated`,
    /// `preconditionIsolated` and `assertIsolated`.
    public func checkIsolated() {
        guard isIsolatingCurrentContext() != true else { return }
        fatalError(
            "RunLoopKit: code of an actor that lives on a loop was entered without 'await' on a thread that is not the loop's: by "
                + "assumeIsolated or preconditionIsolated, or by an item made with 'isolation:' that is in another loop. Call it "
                + "with 'await', or hand it over with Loop.perform(in:_:); add such items to the actor's own loop.")
    }
}
