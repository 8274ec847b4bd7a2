// The contract is at `asUnownedSerialExecutor()`: a comment on the extension is on no page of the documentation.
extension Loop: SerialExecutor {
    /// Enqueues a job of an actor on this loop. Swift calls it, on any thread. The loop never refuses a job: see
    /// ``Loop/asUnownedSerialExecutor()``, which has the order of jobs and the end of the loop.
    public func enqueue(_ job: consuming ExecutorJob) { accept(UnownedJob(job)) }

    /// The loop as an unretained executor, for an actor's `unownedExecutor`: the actor runs on the loop's thread, and
    /// may use what belongs to that. It must keep the loop running: it holds the ``LoopThread``.
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
    /// **Order.** Jobs of one priority run in the order of their arrival. Higher priorities run first, but one job in
    /// sixteen is the oldest, so none waits forever. Jobs run in the common modes, as blocks posted for `common` do.
    ///
    /// **Fairness.** The jobs run in drains of at most ``Loop/jobsPerDrain``, in the pass's block steps
    /// (<doc:HowARunLoopWorks#One-pass>). So a pass runs at most three drains, and serves other inputs in between.
    ///
    /// **Nested runs.** While a job runs no other begins, not even in a nested run: it would interrupt an actor in the
    /// middle of a function. The main dispatch queue behaves likewise.
    ///
    /// **The end.** A job is never dropped, so every task that awaits it continues:
    ///
    /// - Jobs that arrive before a clean ``LoopThread/stop()`` run before the thread ends.
    /// - Later jobs, and those that a discarding stop leaves, run after the loop's end, one after the other, on a
    ///   *thread of last resort*. It is made when first needed. Ended loops share one, unless a job keeps it busy.
    ///   Stderr reports it once for each loop.
    /// - There the actor's `assumeIsolated` holds, but ``isOnOwnThread`` is false, and a ``LoopBound`` traps.
    ///
    /// **Lifetime.** Swift does not retain an actor's executor. A loop that is deallocated while jobs of an actor wait
    /// traps with a message: its actor did not hold it. Jobs of tasks that prefer the loop run on the thread of last
    /// resort.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// True where the loop's jobs run: on its own thread, in any handler; after the loop's end, in a job on the thread
    /// of last resort. So `assumeIsolated` works in a timer's handler.
    ///
    /// Nil everywhere else: Swift then calls ``checkIsolated()``, whose message states the remedy. After false Swift
    /// would trap without that message.
    public func isIsolatingCurrentContext() -> Bool? {
        if ThreadLoops.current.standsInFor === self { return true }
        return isOnOwnThread && !jobs.hasLostItsThread ? true : nil
    }

    /// Traps with a message unless `isIsolatingCurrentContext()` is true. Called by Swift for `assumeIsolated`,
    /// `preconditionIsolated` and `assertIsolated`.
    public func checkIsolated() {
        guard isIsolatingCurrentContext() != true else { return }
        fatalError(
            "RunLoopKit: code of an actor that lives on a loop was entered without 'await' on a thread that is not the "
                + "loop's: by assumeIsolated or preconditionIsolated, or by an item made with 'isolation:' that is in "
                + "another loop. Call it with 'await', or hand it over with Loop.perform(in:_:); add such items to "
                + "the actor's own loop.")
    }
}
