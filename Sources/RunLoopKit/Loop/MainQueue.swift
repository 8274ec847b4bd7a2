/// The main dispatch queue, which on Linux is the main actor's too: `Loop.main` drains it in its common modes.
///
/// libdispatch writes to an eventfd when jobs arrive. That eventfd is in the epoll set of every mode of the main loop,
/// for the edges that wake it; but what counts is its level, since several modes see the same edge and some may not
/// serve it. It is read when the queue is about to be drained, as CF does: then no other mode drains it once more for
/// nothing.
struct MainQueue {
    private let descriptor: Descriptor

    /// A drain must not be re-entered: jobs would overtake the one that is running.
    private(set) var isDraining = false

    /// Nil in a program without libdispatch. To be called on the initial thread.
    init?() {
        descriptor = System.mainQueueDescriptor()
        if descriptor < 0 { return nil }
    }

    /// Whether an edge was seen where the queue could not be drained: in a mode that is not common, or inside a drain.
    /// It does not come again.
    var hasBeenPassedOver = false

    /// Takes the host's wake-up although the queue cannot be drained now, or the host would spin until it can. Nothing
    /// is lost: at the end of a drain libdispatch writes to the eventfd once more if jobs are left.
    func refuse() { _ = takeReadiness() }

    /// For the pollers.
    var wakeUpDescriptor: Descriptor { descriptor }

    /// Whether jobs have arrived since the last drain.
    var isReady: Bool { System.isReadable(descriptor) }

    /// The same, once: true only for the one who is to drain now.
    func takeReadiness() -> Bool { System.drain(eventFD: descriptor) > 0 }

    mutating func beginDraining() { isDraining = true }
    mutating func endDraining() { isDraining = false }
}

extension Loop {
    /// Whether runs in `mode` drain the main queue: on the main loop, in common modes, and not inside a drain. The lock
    /// is held.
    func servesMainQueueWhileLocked(in mode: Mode) -> Bool {
        lock.assertHeld()
        guard let mainQueue = own.mainQueue else { return false }
        return !mainQueue.isDraining && commonModes.contains(mode)
    }

    /// The same, for callers without the lock.
    func servesMainQueue(in mode: Mode) -> Bool {
        guard own.mainQueue != nil else { return false }
        return lock.withLock { servesMainQueueWhileLocked(in: mode) }
    }

    /// Step 3.5: whether the queue is to be drained now, before the loop thinks of sleeping. Not twice in a row, or a
    /// job that posts another would keep everything else waiting.
    func takeMainQueue(in run: Run) -> Bool {
        guard let mainQueue = own.mainQueue, !run.hasJustDrainedMainQueue, servesMainQueue(in: run.mode.mode) else {
            return false
        }
        return mainQueue.takeReadiness()
    }

    /// An edge of the queue's eventfd: whether the queue is ready to be drained in this mode. `takes` consumes the
    /// readiness, for a caller that drains the queue now.
    func hasMainQueueEdge(in mode: Mode, takes: Bool) -> Bool {
        guard servesMainQueue(in: mode) else {
            own.mainQueue?.hasBeenPassedOver = true
            return false
        }
        return (takes ? own.mainQueue?.takeReadiness() : own.mainQueue?.isReady) ?? false
    }

    /// Whether the queue waits for a drain that an earlier edge has asked for in vain.
    func mainQueueWaits(in mode: Mode) -> Bool {
        guard let mainQueue = own.mainQueue, mainQueue.hasBeenPassedOver, servesMainQueue(in: mode) else {
            return false
        }
        own.mainQueue?.hasBeenPassedOver = false
        return mainQueue.isReady
    }

    /// Step 3.9, for the main queue.
    func drainMainQueue() {
        own.mainQueue?.beginDraining()
        callOut { loopIsServicingTheMainDispatchQueue() }
        own.mainQueue?.endDraining()
    }

    // MARK: For hosts that want nothing else

    /// The descriptor by which a foreign loop can serve the main dispatch queue, which is the main actor's too, without
    /// having a loop of ours: watch it for readability, level- or edge-triggered, and call `serveMainQueue()`.
    ///
    /// ```swift
    /// g_unix_fd_add(try Loop.mainQueueDescriptor()!, G_IO_IN, { _, _, _ in Loop.serveMainQueue(); return 1 }, nil)
    /// ```
    ///
    /// To be called on the process's initial thread; traps elsewhere. The descriptor is libdispatch's: never read or
    /// close it.
    ///
    /// - Returns: Nil in a program without libdispatch.
    /// - Throws: `LoopError` from `eventfd`, when the process has no descriptor left.
    ///
    /// CF: `_dispatch_get_main_queue_handle_4CF`, which it is made for.
    public static func mainQueueDescriptor() throws(LoopError) -> Int32? {
        main.requireOwnThread("mainQueueDescriptor()")
        try main.findMainQueue()
        return main.own.mainQueue?.wakeUpDescriptor
    }

    /// Runs the jobs that are in the main dispatch queue, if there are any. For hosts: see `mainQueueDescriptor()`.
    ///
    /// Called inside one of the queue's jobs it does nothing, since jobs must not overtake the one that runs; they are
    /// served after it. On the process's initial thread; traps elsewhere.
    public static func serveMainQueue() {
        main.requireOwnThread("serveMainQueue()")
        guard let queue = main.own.mainQueue else { return }
        if queue.isDraining {
            queue.refuse()
        } else if queue.takeReadiness() {
            main.drainMainQueue()
        }
    }
}
