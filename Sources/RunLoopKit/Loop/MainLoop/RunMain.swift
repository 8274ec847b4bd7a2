extension Loop {
    /// Runs an asynchronous program on the process's initial thread, under ``Loop/main``, and returns its result. That
    /// thread serves the main loop's items, the main actor and the main dispatch queue while `body` is suspended.
    ///
    /// An async `main` function gives the initial thread away at its first suspension: no thread can run the main loop
    /// then.
    ///
    /// ```swift
    /// // main.swift
    /// import RunLoopKit
    ///
    /// let signal = try Loop.SignalSource(SIGINT) { _, _ in Loop.main.stop() }  // cancels the body's task
    /// Loop.main.add(signal, in: .common)
    /// try Loop.runMain {
    ///     let tick = Loop.Timer(every: .seconds(1), isolation: .shared) { _ in print("tick") }
    ///     Loop.main.add(tick, in: .common)
    ///     try await Task.sleep(for: .seconds(3))
    /// }
    /// ```
    ///
    /// - *With `@main`:* call it in a `static func main() throws` without `async`.
    /// - *An exit status:* `exit(Loop.runMain { 3 })`.
    /// - *A hosted main loop:* ``Loop/HostFunctions/begin(in:)`` traps in `body`, since this function runs the loop
    ///   itself. Begin hosting and run the host in a synchronous `main`.
    /// - *A stop:* ``Loop/stop()`` cancels the task of `body`, and the loop runs until `body` returns. What the body
    ///   awaits then throws `CancellationError`; it awaits its clean-up in a task of its own,
    ///   `try await Task { … }.value`. A detached task that it awaits does not hear of the stop: another stop, two
    ///   seconds later, is then reported, ``Loop/Mistake/mainBodyGoesOn``. See <doc:SwiftConcurrency#An-async-main>.
    /// - *A body that returns at once,* and leaves timers or sources that it has added, has forgotten to wait for them:
    ///   ``Loop/Mistake/mainBodyEndsAtOnce(items:)``.
    /// - *Nested runs:* `body` begins in the first pass of the loop. If a handler runs the loop nested when `body`
    ///   returns, that run is stopped, and this function returns as soon as the handler does.
    ///
    /// - Parameter body: Runs on the main actor.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    /// - Precondition: Called on the process's initial thread, outside the runs of the main loop; traps otherwise. The
    ///   program has libdispatch, which Swift concurrency links.
    public static func runMain<Value: Sendable, Failure: Error>(
        _ body: @escaping @MainActor () async throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard main.isOnOwnThread else {
            fatalError(
                "RunLoopKit: Loop.runMain was called on a thread that is not the process's initial one. Call it in "
                    + "main.swift, or in a main function without 'async', before that thread is given away.")
        }
        guard main.currentMode == nil else {
            fatalError(
                "RunLoopKit: Loop.runMain was called inside a run of the main loop, whose handler would have to return "
                    + "first. Start a task there: Task { @MainActor in … }.")
        }
        let program = MainProgram<Value, Failure>()
        let (items, passes) = (Set(main.itemsThatWait.map { ObjectIdentifier($0) }), main.counters.passes)
        let task = Task { @MainActor in
            do throws(Failure) {
                program.end(.success(try await body()))
            } catch {
                program.end(.failure(error))
            }
        }
        var firstStop: Instant?
        while true {
            let reason = main.run(.default) { program.result != nil }
            if let result = program.result {
                // The body begins in the first pass.
                let isFirstPass = main.counters.passes == passes + 1
                if case .success = result, isFirstPass { main.reportItemsLeft(besides: items) }
                return try result.get()
            }
            guard reason == .stopped else {
                fatalError(
                    ProcessMark.hasFirstThread
                        ? "RunLoopKit: Loop.runMain cannot serve the main actor: the program has no libdispatch."
                        : "RunLoopKit: Loop.runMain cannot serve the main actor in a child that another thread than "
                            + "the initial one forked. Fork on the initial thread, or give the work to a LoopThread.")
            }
            // Twice is what a user in a hurry presses, and a clean-up takes a moment.
            if let firstStop, firstStop.duration(to: main.now) >= .seconds(2) {
                Mistakes.shared.report(.mainBodyGoesOn)
            }
            firstStop = firstStop ?? main.now
            task.cancel()
        }
    }
}

extension Loop {
    /// Reports what the body of `runMain` has added, and does not wait for.
    private func reportItemsLeft(besides known: Set<ObjectIdentifier>) {
        let items = itemsThatWait.filter { $0.keepsRunsGoing && !known.contains(ObjectIdentifier($0)) }
        guard !items.isEmpty else { return }
        Mistakes.shared.report(.mainBodyEndsAtOnce(items: Set(items.map(\.name)).sorted()))
    }
}

/// The result of the body of `Loop.runMain`. Only the initial thread accesses it, on which the main actor runs.
private final class MainProgram<Value, Failure: Error>: @unchecked Sendable {
    private(set) var result: Result<Value, Failure>?

    func end(_ result: Result<Value, Failure>) {
        self.result = result
        // Ends a run that is nested in a handler. The outermost run looks for the result itself.
        Loop.main.stop()
    }
}
