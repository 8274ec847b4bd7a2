extension VirtualClock {
    /// Moves a manual clock forward, and lets the main actor come to rest at each deadline on the way, and at the end:
    /// for tests of a class of the main actor, with exact times.
    ///
    /// ```swift
    /// Loop.runMain {
    ///     let clock = VirtualClock(.manual)
    ///     let loop = Loop(clock: clock)
    ///     Task(executorPreference: loop.taskExecutor) {
    ///         try await Task.sleep(for: .milliseconds(250), clock: .loop(loop))
    ///         await MainActor.run { print(clock.now) }  // 250000000 ns
    ///     }
    ///     await clock.advanceAndSettle(by: .seconds(1))
    /// }
    /// ```
    ///
    /// <doc:TestingInVirtualTime#Classes-of-the-main-actor> has a whole test.
    ///
    /// At one instant, the loops on the clock and the tasks of the main actor take turns until neither has anything
    /// left to do: what a timer lets a task do, and what that starts on a loop, has been done when the time goes on.
    /// Otherwise as ``advance(by:)``: zero or less only lets them come to rest.
    ///
    /// - *What is seen:* handlers and blocks; jobs of the main actor, and of actors on a loop of the clock; and tasks
    ///   that prefer such a loop, even one of the main actor that sleeps: let an ``AsyncLimiter`` and a `Task` have
    ///   `executorPreference: loop.taskExecutor`.
    /// - *What is not seen:* a task on Swift's own threads, which may be late. One of the main actor that prefers no
    ///   loop comes by there in each async function of no actor, such as a sleep or the `value` of a task. So does
    ///   `Task.yield()` of any.
    /// - *Where no thread runs* ``Loop/main``, as under Swift Testing, nothing tells when the main actor is at rest:
    ///   the call gives it twenty turns each time. Each `await` may change the thread there, so let the model have the
    ///   loop of a ``LoopThread``.
    /// - *A task that never rests* keeps the call from returning, and so does a hold.
    ///
    /// - Parameter duration: How far to move the time.
    @MainActor public func advanceAndSettle(by duration: Duration) async {
        let target = target(after: max(0, duration.wholeNanoseconds))
        await settle()
        while let next = nextDeadline(through: target) {
            advance(by: now.duration(to: Loop.Instant(nanoseconds: next)))
            await settle()
        }
        let rest = now.duration(to: Loop.Instant(nanoseconds: target))
        guard rest > .zero else { return }
        advance(by: rest)
        await settle()
    }

    /// Returns when the loops on the clock and the main actor have nothing to do without time passing.
    @MainActor private func settle() async {
        // The loops of other threads are idle whenever their passes are counted. If they have made none between two
        // counts, they have started nothing since the main actor came to rest.
        advance(by: .zero)
        var isSettled = false
        while !isSettled {
            let passes = passesElsewhere
            await Loop.letMainActorRest()
            let hasWorkHere = hasWorkHere
            advance(by: .zero)
            isSettled = !hasWorkHere && passesElsewhere == passes
        }
    }
}

extension Loop {
    /// Suspends the calling task until no job of the main actor is left, as far as the loop can know.
    @MainActor fileprivate static func letMainActorRest() async {
        guard main.isOnOwnThread, main.isInRun else {
            // Its jobs run in order of arrival, so each turn is one for all that wait. (`Task.yield()` goes elsewhere.)
            for _ in 0..<20 {
                await withCheckedContinuation { continuation in Task { @MainActor in continuation.resume() } }
            }
            return
        }
        await withCheckedContinuation { continuation in
            // Behind all others, which may start something.
            let observer = Observer(.beforeWaiting, order: .max, label: "rest of the main actor") { observer, _ in
                // After a drain, a pass looks for other work first.
                guard !main.hasJobOfMainQueue else { return }
                observer.invalidate()
                continuation.resume()
            }
            if !main.insert(observer, in: .common) { continuation.resume() }
        }
    }
}
