extension Loop {
    /// Posts a block. The loop calls it once, in its next block step in `mode` (<doc:HowARunLoopWorks#One-pass>), in
    /// the order of posting. From any thread. CF: `CFRunLoopPerformBlock`, then `CFRunLoopWakeUp`.
    ///
    /// - Posted for `common`, it runs in whichever common mode runs next. Blocks for different modes that a run serves
    ///   keep their order.
    /// - A block posted by a block waits for the next step, perhaps in the same pass.
    /// - A block for a mode that no run serves waits, and keeps what it captures, until the loop ends. Nothing reports
    ///   it.
    ///
    /// - Parameters:
    ///   - mode: The mode in which the block may run. ``Loop/Mode`` says why it is the default mode here.
    ///   - wake: Whether to wake a sleeping loop. If `false`, as in CF, the block waits until the loop wakes for
    ///     another reason.
    ///   - label: What diagnostics call the block; nil to call it by the place where it was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the loop's thread, and released after the call.
    /// - Returns: Whether the loop accepted the block. False if the loop has ended, or its ``LoopThread`` was stopped,
    ///   which is reported as ``Loop/Mistake/refusedBlock(block:thread:)``. A loop that ends drops accepted blocks;
    ///   that of a ``LoopThread`` runs them first, unless ``LoopThread/stop(discardingPending:)`` drops them. Where no
    ///   thread can run ``Loop/main``, the first blocks may be dropped, which is reported on stderr.
    @discardableResult
    public func perform(
        in mode: Mode = .default, wake: Bool = true, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        _ block: @escaping @Sendable () -> Void
    ) -> Bool {
        accept(
            PostedBlock(body: block, handle: noteOfHandover(Place(label, file, line))), mode, wake,
            ifRefused: reportRefusal(Place(label, file, line)))
    }

    /// Posts a block that runs once, in whichever of `modes` runs first, as
    /// ``Loop/perform(in:wake:label:file:line:_:)-(Loop.Mode,_,_,_,_,_)`` does. Refused if `modes` is empty. CF:
    /// `CFRunLoopPerformBlock` with an array of modes.
    @discardableResult
    public func perform(
        in modes: Set<Mode>, wake: Bool = true, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        _ block: @escaping @Sendable () -> Void
    ) -> Bool {
        let place = Place(label, file, line)
        return accept(block, modes, wake, place) || !modes.isEmpty && reportRefusal(place)
    }

    /// Posts a block as ``Loop/perform(in:wake:label:file:line:_:)-(Loop.Mode,_,_,_,_,_)`` does, and returns an object
    /// that withdraws it; nil if the loop refuses it, which is not reported.
    public func performCancellable(
        in mode: Mode = .default, wake: Bool = true, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        _ block: @escaping @Sendable () -> Void
    ) -> PendingBlock? {
        let handle = PendingBlock(loop: self, Place(label, file, line))
        return accept(PostedBlock(body: block, handle: handle), mode, wake) ? handle : nil
    }

    /// Runs a block after a delay, by a timer. From any thread. Cocoa: `performSelector:withObject:afterDelay:`, and
    /// `cancelPreviousPerformRequests`.
    ///
    /// - Parameters:
    ///   - delay: How long to wait at least. If zero or less, the block is due at once.
    ///   - mode: The mode in which the block may run. ``Loop/Mode`` says why it is the default mode here.
    ///   - label: What diagnostics call the timer; nil to call it by the place where the block was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the loop's thread, and released after the call.
    /// - Returns: The timer that runs the block; invalidate it to cancel the block. Nil if the loop has ended, or its
    ///   ``LoopThread`` was stopped, which is reported. A block that is not due when the loop ends does not run.
    @discardableResult
    public func perform(
        after delay: Duration, in mode: Mode = .default, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, _ block: @escaping @Sendable () -> Void
    ) -> Timer? {
        let timer = Timer(after: delay, label: label, file: file, line: line) { _ in block() }
        return insert(timer, in: mode) || reportRefusal(Place(label, file, line)) ? timer : nil
    }

    /// Reports a block that this loop has refused, since it has ended. Returns false.
    ///
    /// A main loop without a thread has a report of its own, and so has a parent's loop in a forked child.
    @inline(never)
    private func reportRefusal(_ place: Place) -> Bool {
        if isOfThisProcess, !isMain || !hasEnded {
            Mistakes.shared.report(.refusedBlock(block: place.nameOfBlock, thread: threadName))
        }
        return false
    }

    /// As `perform(in:wake:label:file:line:_:)`, for callers in the library that post on behalf of a place outside it.
    ///
    /// - Parameter isReported: False for a caller that holds a lock, and so reports a loss itself:
    ///   `complainIfMainIsGone()`.
    func perform(
        in modes: Set<Mode>, _ place: Place, isReported: Bool = true, _ block: @escaping @Sendable () -> Void
    ) -> Bool {
        accept(block, modes, true, place, isReported)
    }

    func perform(in mode: Mode, _ place: Place, _ block: @escaping @Sendable () -> Void) -> Bool {
        accept(PostedBlock(body: block, handle: noteOfHandover(place)), mode, true)
    }

    /// Posts a block that a caller waits for. If it will not run, it is dropped at once, even while another block runs.
    ///
    /// - Returns: The block's number, for a caller that gives up: `discardAwaited(_:in:)`. Nil if it was refused.
    func performAwaited(in mode: Mode, _ place: Place, _ block: @escaping @Sendable () -> Void) -> UInt64? {
        let block = PostedBlock(body: block, handle: noteOfHandover(place))
        guard beginAccepting(block.handle) else { return nil }
        append(block, for: mode, isAwaited: true)
        let number = lastBlock
        endAccepting(true)
        return number
    }

    /// Drops a block whose caller has given up, if it still waits: it would keep a run going, and its room.
    func discardAwaited(_ number: UInt64?, in mode: Mode) {
        guard let number else { return }
        let dropped = lock.withLock { takeOut(number, for: .one(mode)) }
        _ = consume dropped
    }

    /// What tells monitors where a block comes from; nil if there are none.
    @inline(__always)
    func noteOfHandover(_ place: @autoclosure () -> Place) -> PendingBlock? {
        isMonitored.load(ordering: .relaxed) ? PendingBlock(place(), number: numberOfHandover) : nil
    }

    /// The number of a block's handover; 0 if no monitor wants to know of it.
    var numberOfHandover: UInt64 {
        @inline(__always) get { waker.monitors.wantHandovers ? waker.turns.next() : 0 }
    }

    // A block is consumed on its way into the queue, which saves a pair of retain and release at each call.

    /// - Parameter ifRefused: Returns false. Called here: after this, its arguments would be kept until the wake-up.
    @inline(__always)
    private func accept(
        _ block: consuming PostedBlock, _ mode: Mode, _ wake: Bool, ifRefused: @autoclosure () -> Bool = false
    ) -> Bool {
        guard beginAccepting(block.handle) else { return ifRefused() }
        append(block, for: mode, isAwaited: false)
        endAccepting(wake)
        return true
    }

    private func accept(
        _ body: @escaping @Sendable () -> Void, _ modes: Set<Mode>, _ wake: Bool, _ place: Place,
        _ isReported: Bool = true
    ) -> Bool {
        guard !modes.isEmpty else { return false }
        let block = PostedBlock(body: body, handle: PendingBlock(loop: self, place))
        guard beginAccepting(block.handle, isReported) else { return false }
        append(block, for: modes)
        endAccepting(wake)
        return true
    }

    /// Takes the lock, so that the caller adds a block to its queues. Returns false, without the lock, if the loop is
    /// closing.
    @inline(__always)
    func beginAccepting(_ handle: PendingBlock?, _ isReported: Bool = true) -> Bool {
        guard isOfThisProcess else { return false }
        lock.lock()
        guard isOpen else {
            lock.unlock()
            if isReported { complainIfMainIsGone() }
            return false
        }
        // Before the block can run.
        if let handle { notifyOfHandover(of: handle) }
        return true
    }

    @inline(__always)
    func endAccepting(_ wake: Bool) {
        lock.unlock()
        watchIfUnrun("block")
        if wake { waker.wake() }
    }

    @inline(never)
    private func notifyOfHandover(of handle: PendingBlock) {
        if handle.number != 0 { notifyMonitors { $0.handedOver(Handover(of: handle)) } }
    }

    /// Drops a block that was withdrawn.
    func discard(_ handle: PendingBlock) {
        let dropped = lock.withLock { handle.posting.flatMap { takeOut($0.number, for: $0.modes) } }
        _ = consume dropped  // The deinit of what it captured may call back: not with the lock held.
    }
}
