extension Loop {
    /// Posts a block: the loop calls it, once, in the next pass that it makes in `mode`, in order with other posted
    /// blocks.
    ///
    /// From any thread. The block belongs to the loop, not the mode: posted for `common`, it runs in whichever common
    /// mode runs next. A block posted by a block waits for the next time blocks are looked at. CF:
    /// `CFRunLoopPerformBlock`, and `CFRunLoopWakeUp`.
    ///
    /// - Parameters:
    ///   - mode: Where the block may run.
    ///   - wake: `false` does not wake a sleeping loop, as CF does not: the block then waits for another reason to make
    ///     a pass.
    ///   - block: Called on the loop's thread, and released after the call.
    /// - Returns: Whether the block was accepted. False when the loop has ended, or its `LoopThread` was stopped: it
    ///   never runs then. A block that was accepted is dropped if the loop ends first; where nobody can run
    ///   `Loop.main`, that may happen to the first ones, and is said on stderr.
    @discardableResult
    public func perform(in mode: Mode = .default, wake: Bool = true, _ block: @escaping @Sendable () -> Void) -> Bool {
        post(.init(modes: .one(mode), handle: nil, body: block), wake: wake)
    }

    /// Posts a block that runs once, in whichever of `modes` runs first; otherwise as `perform(in:wake:_:)`. Refused
    /// when `modes` is empty. CF: `CFRunLoopPerformBlock` with an array of modes.
    @discardableResult
    public func perform(in modes: Set<Mode>, wake: Bool = true, _ block: @escaping @Sendable () -> Void) -> Bool {
        !modes.isEmpty && post(.init(modes: .any(modes), handle: nil, body: block), wake: wake)
    }

    /// Posts a block as `perform(in:wake:_:)` does, and returns a handle to withdraw it with; nil when the loop has
    /// ended.
    public func performCancellable(
        in mode: Mode = .default, wake: Bool = true, _ block: @escaping @Sendable () -> Void
    ) -> PendingBlock? {
        let handle = PendingBlock(loop: self)
        return post(.init(modes: .one(mode), handle: handle, body: block), wake: wake) ? handle : nil
    }

    private func post(_ block: BlockQueue.Block, wake: Bool) -> Bool {
        guard isOfThisProcess else { return false }
        let isAccepted = lock.withLock {
            guard isOpen else { return false }
            // A mode that a block was posted for exists.
            for mode in block.modes.modes where mode != .common { _ = state(for: mode) }
            blocks.append(block)
            hasBlocks.store(true, ordering: .relaxed)
            return true
        }
        if !isAccepted { complainIfMainIsGone() }
        if isAccepted, wake { waker.wake() }
        return isAccepted
    }

    /// Drops a block that was withdrawn.
    func discard(_ handle: PendingBlock) {
        let dropped = lock.withLock { blocks.remove(handle) }
        _ = consume dropped  // What it captured may call us: not with the lock held.
    }
}
