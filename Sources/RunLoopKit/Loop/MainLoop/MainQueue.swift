/// The main dispatch queue, which on Linux is the main actor's, too. `Loop.main` drains it in its common modes.
///
/// libdispatch writes to an eventfd when jobs arrive. The epoll set of every mode of the main loop watches that
/// eventfd, so that its edges wake the loop. Its level decides whether to drain: several modes see the same edge, and
/// some may not serve it. The loop reads the eventfd before it drains the queue, as CF does, so that no other mode
/// makes a needless drain.
///
/// An edge does not come again, so **only the eventfd itself may answer one.** A write tells the epoll sets of an
/// eventfd one after another: a set may know nothing yet when another has reported the edge. `MainQueueProtocolTests`
/// models this.
///
/// Only the initial thread uses it. Exclusivity is unchecked, as in `OwnThreadState`.
final class MainQueue {
    private let descriptor: Descriptor

    /// Watches only `descriptor`. Every pass asks it: a set in which nothing is ready answers in half the time of a
    /// `read` that fails. So a pass takes 1.5 instead of 3.4 times a bare `epoll_wait`. May be late: see above.
    private let poller: Poller

    /// Whether a drain is active. It must not be re-entered: jobs would overtake the one that is running.
    @exclusivity(unchecked) private(set) var isDraining = false

    /// Nil in a program without libdispatch; and in a child that another thread than the initial one forked, since
    /// libdispatch binds the queue to that. Called on the initial thread.
    init?() throws(LoopError) {
        guard ProcessMark.hasFirstThread else { return nil }
        // libdispatch makes an eventfd now, and crashes if it cannot. Making one first throws an error instead.
        _ = try EventFD()
        descriptor = System.mainQueueDescriptor()
        if descriptor < 0 { return nil }
        if ProcessMark.isOfForkedChild { try System.replace(eventFDOfParent: descriptor) }
        poller = try Poller()
        try poller.set(Watch(descriptor: descriptor, events: .read), token: ReadyList.mainQueue)
    }

    /// Consumes the host's wake-up although the queue cannot be drained now; otherwise the host would spin. Nothing is
    /// lost: at the end of a drain libdispatch writes to the eventfd again if jobs are left.
    func refuse() { _ = takeReadiness() }

    /// The eventfd that the pollers watch.
    var wakeUpDescriptor: Descriptor { descriptor }

    /// Whether jobs have arrived since the last drain.
    var isReady: Bool { System.mayBeReadable(descriptor) }

    /// The same, asked at half the price. May be false for a moment after jobs have arrived: for callers to whom an
    /// edge is still reported.
    var isKnownToBeReady: Bool { poller.wait(blocking: false) > 0 }

    /// Whether jobs have arrived since the last drain. Consumes that: true for exactly one caller, which must drain the
    /// queue.
    func takeReadiness() -> Bool { System.drain(eventFD: descriptor) > 0 }

    func beginDraining() { isDraining = true }
    func endDraining() { isDraining = false }
}

extension Loop {
    /// Whether runs in `mode` drain the main queue: on the main loop, in common modes, and not inside a drain.
    func servesMainQueue(in mode: ModeState) -> Bool {
        guard let mainQueue = own.mainQueue else { return false }
        return !mainQueue.isDraining && mode.isCommon
    }

    /// Step 3.5 (see Pass.swift): whether to drain the queue now, before the loop considers sleeping. Not twice in a
    /// row: a job that posts another would keep everything else waiting.
    @inline(__always)
    func takesMainQueue(in run: Run) -> Bool {
        !run.skipsMainQueueStep && own.mainQueue != nil && takesMainQueueSlowly(in: run.mode)
    }

    @inline(never)
    private func takesMainQueueSlowly(in mode: ModeState) -> Bool {
        guard let mainQueue = own.mainQueue, servesMainQueue(in: mode) else { return false }
        return mainQueue.isKnownToBeReady && mainQueue.takeReadiness()
    }

    /// Whether step 3.5 would find the queue ready.
    @inline(never)
    func isMainQueueReady(in mode: ModeState) -> Bool { servesMainQueue(in: mode) && own.mainQueue!.isKnownToBeReady }

    /// Whether a job waits that a run in this mode would run.
    func hasJobOfMainQueue(in mode: ModeState) -> Bool { servesMainQueue(in: mode) && own.mainQueue!.isReady }

    /// Whether a job waits that the present run would run. On the main thread.
    var hasJobOfMainQueue: Bool {
        guard let mode = currentMode, let state = lock.withLock({ existingState(for: mode) }) else { return false }
        return hasJobOfMainQueue(in: state)
    }

    /// Handles an edge of the queue's eventfd: whether the queue is ready to be drained in this mode. With `takes`,
    /// consumes the readiness, for a caller that drains the queue now.
    func hasMainQueueEdge(in mode: ModeState, takes: Bool) -> Bool {
        guard servesMainQueue(in: mode) else {
            mode.hasPassedOverMainQueue = true
            return false
        }
        return (takes ? own.mainQueue?.takeReadiness() : own.mainQueue?.isReady) ?? false
    }

    /// Whether the queue waits for a drain since an earlier edge in this mode could not be served.
    @inline(__always)
    func mainQueueWaits(in mode: ModeState) -> Bool {
        mode.hasPassedOverMainQueue && mainQueueWaitsSlowly(in: mode)
    }

    @inline(never)
    private func mainQueueWaitsSlowly(in mode: ModeState) -> Bool {
        guard servesMainQueue(in: mode) else { return false }
        mode.hasPassedOverMainQueue = false
        return own.mainQueue?.isReady ?? false
    }

    /// Step 3.9, for the main queue.
    func drainMainQueue() {
        own.mainQueue?.beginDraining()
        callOut(Callout(.mainQueue)) { loopIsServicingTheMainDispatchQueue() }
        own.mainQueue?.endDraining()
    }

    // MARK: For hosts that serve the main queue only

    /// The descriptor through which a foreign loop can serve the main dispatch queue, and so the main actor, without
    /// hosting a loop. On the process's initial thread; traps elsewhere.
    ///
    /// Watch it for readability, level- or edge-triggered, and call ``Loop/serveMainQueue()``. It is libdispatch's:
    /// never read or close it.
    ///
    /// ```swift
    /// g_unix_fd_add(try Loop.mainQueueDescriptor()!, G_IO_IN, { _, _, _ in Loop.serveMainQueue(); return 1 }, nil)
    /// ```
    ///
    /// - Returns: Nil in a program without libdispatch.
    /// - Throws: ``LoopError`` from `eventfd`, if the process has no descriptor left.
    ///
    /// CF: `_dispatch_get_main_queue_handle_4CF`, on which this is built.
    public static func mainQueueDescriptor() throws(LoopError) -> Int32? {
        main.requireOwnThread("mainQueueDescriptor()")
        try main.findMainQueue()
        return main.own.mainQueue?.wakeUpDescriptor
    }

    /// Runs the jobs that are in the main dispatch queue. For hosts: see ``Loop/mainQueueDescriptor()``. On the
    /// process's initial thread; traps elsewhere.
    ///
    /// Inside one of the queue's jobs it does nothing: jobs must not overtake the one that runs, and are served after
    /// it.
    ///
    /// - Precondition: The process has a descriptor left for the queue, if this is the first call that needs it; traps
    ///   otherwise, where ``Loop/mainQueueDescriptor()`` throws.
    public static func serveMainQueue() {
        main.requireOwnThread("serveMainQueue()")
        do {
            try main.findMainQueue()
        } catch {
            fatalError(
                "RunLoopKit: Loop.serveMainQueue(): \(error). Loop.mainQueueDescriptor() throws this instead.")
        }
        guard let queue = main.own.mainQueue else { return }
        if queue.isDraining {
            queue.refuse()
        } else if queue.takeReadiness() {
            main.drainMainQueue()
        }
    }
}
