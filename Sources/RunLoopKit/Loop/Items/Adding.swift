extension Loop {
    /// Adds an item to a mode; `common` adds it to all common modes, even to later ones. A loop that sleeps in the mode
    /// notices the item at once; an observer does not wake it. From any thread. ``Loop/Mode`` says which calls take
    /// which mode by themselves.
    ///
    /// - Returns: Whether the item is in the mode now, even if it was there before. A refusal is reported as
    ///   ``Loop/Mistake/refusedItem(item:reason:)``. The loop refuses an item if:
    ///   - the item is invalid.
    ///   - it is in another loop, and neither a ``Loop/Source0`` nor a ``Loop/PortSource``, which may be in several.
    ///   - its handler belongs to the main actor, and this is neither ``Loop/main`` nor in virtual time.
    ///   - this loop has ended.
    ///   - this process is a forked child, and the item a ``Loop/SignalSource``, ``Loop/PortSource`` or
    ///     ``Loop/FolderSource`` that its parent has made.
    /// - Precondition: The kernel accepts the source's descriptor; otherwise this call, or the first run in the mode,
    ///   traps. It refuses an epoll set that watches this loop, or is the loop's own
    ///   (``Loop/HostFunctions/begin(in:)``), and any descriptor once memory or `fs.epoll.max_user_watches` is
    ///   exhausted.
    ///
    /// CF: `CFRunLoopAddSource`, `CFRunLoopAddTimer`, `CFRunLoopAddObserver`.
    @discardableResult
    public func add(_ item: Item, in mode: Mode = .default) -> Bool {
        let isIn = insert(item, in: mode)
        if !isIn, isOfThisProcess {
            Mistakes.shared.report(.refusedItem(item: item.name, reason: reasonForRefusing(item)))
        }
        return isIn
    }

    private func reasonForRefusing(_ item: Item) -> Mistake.Refusal {
        if item.isolation == .mainActor, !takesMainActor { return .itemIsForMainActor }
        if item.isOfParent { return .itemIsOfParent }
        return isClosing ? .loopHasEnded : item.isValid ? .itemIsInAnotherLoop : .itemIsInvalid
    }

    /// As ``add(_:in:)``, for callers in the library, which expect that a loop refuses their items when it ends.
    ///
    /// - Parameter isReported: False for a caller that holds a lock, and so reports a loss itself:
    ///   `complainIfMainIsGone()`.
    @discardableResult
    @inline(__always)
    package func insert(_ item: Item, in mode: Mode, isReported: Bool = true) -> Bool {
        guard isOfThisProcess, item.isolation != .mainActor || takesMainActor, !item.isOfParent else {
            item.noteRefusal()
            return false
        }
        let isIn = mode.namesCommonModes ? insertIntoCommon(item) : insert(item, into: mode)
        if isIn { watchIfUnrun(item.name) } else { refuse(item, isReported) }
        return isIn
    }

    @inline(never)
    private func refuse(_ item: Item, _ isReported: Bool) {
        item.noteRefusal()
        if isReported { complainIfMainIsGone() }
    }

    @inline(__always)
    private func insert(_ item: Item, into mode: Mode) -> Bool {
        let held = lock.hold()
        guard isOpen, item.isValid else {
            lock.unlock(held)
            return false
        }
        // Apart, so that the default mode, which is constant, is not retained: that saves 45 instructions of the 1,320
        // that a timer takes to come and go.
        if mode.isDefault { return insert(item, into: defaultState, unlocking: held) }
        return insert(item, into: state(for: mode), unlocking: held)
    }

    @inline(__always)
    private func insert(_ item: Item, into state: ModeState, unlocking held: consuming Lock.Held) -> Bool {
        let hasJoined = join(item, state)
        if hasJoined { item.wakeIfReady(waker) }
        let isIn = hasJoined || item.isIn(state)
        lock.unlock(held)
        if hasJoined, item.isNotifiedOfModes { item.notifyJoined(state, of: self) }
        return isIn
    }

    private func insertIntoCommon(_ item: Item) -> Bool {
        let (joined, isIn) = lock.withLock { isOpen && item.isValid ? joinCommon(item) : ([], false) }
        for mode in joined { item.notifyJoined(mode, of: self) }
        return isIn
    }

    /// Removes an item from one mode, by default from the default mode only. The item stays valid and may be added
    /// again. From any thread.
    ///
    /// Removing it from `common` removes it from all common modes, even if it was added there by name. If the item is
    /// not in the mode, nothing happens. A pass still calls what its current step has collected already: observers,
    /// version-0 sources, and timers that are in another mode, too.
    ///
    /// CF: `CFRunLoopRemoveSource`, `CFRunLoopRemoveTimer`, `CFRunLoopRemoveObserver`.
    public func remove(_ item: Item, in mode: Mode = .default) {
        let left = lock.withLock { () -> [ModeState] in
            let isInCommon = commonMembership.map { item.isIn($0) } ?? false
            // The item may remain in another common mode: what it leaves must not be all that it has joined.
            if isInCommon { catchUpAll() }
            guard mode.namesCommonModes else {
                return takeOutWhileLocked(item, from: existingState(for: mode).map { [$0] } ?? [])
            }
            guard isInCommon else { return [] }
            return takeOutWhileLocked(item, from: item.currentModes.filter { $0 === commonMembership || $0.isCommon })
        }
        for mode in left { item.notifyLeft(mode, of: self) }
    }

    /// Whether an item is in a mode; for `common`, whether it was added to that name. CF: `CFRunLoopContainsSource`,
    /// `CFRunLoopContainsTimer`, `CFRunLoopContainsObserver`.
    public func contains(_ item: Item, in mode: Mode = .default) -> Bool {
        lock.withLock {
            let state = mode.namesCommonModes ? commonMembership : existingState(for: mode)
            return state.map { item.isIn($0) } ?? false
        }
    }

    /// Declares a mode common, permanently. Items that were added to `common` before join it. From any thread.
    ///
    /// The mode itself exists once something is added to it. Naming `common` itself changes nothing. An active run in
    /// the mode calls blocks that were posted for `common` before in its next pass, for which this does not wake it.
    /// CF: `CFRunLoopAddCommonMode`.
    public func addCommonMode(_ mode: Mode) {
        let joined = lock.withLock { () -> (ModeState, [Item])? in
            guard isOpen, !mode.namesCommonModes, commonModes.insert(mode) else { return nil }
            // All items join it now. What it catches up with later is in it already.
            let existing = existingState(for: mode)
            existing?.isCommon = true
            guard let commonItems = commonMembership?.commonItems, !commonItems.isEmpty else { return nil }
            let state = existing ?? makeState(for: mode)
            let joined = commonItems.all.filter { join($0, state) }
            for item in joined { item.wakeIfReady(waker) }
            return (state, joined)
        }
        guard let (state, items) = joined else { return }
        for item in items { item.notifyJoined(state, of: self) }
    }

    /// Whether a mode is a common one, or the name `common` itself.
    public func isCommon(_ mode: Mode) -> Bool { mode.namesCommonModes || lock.withLock { commonModes.contains(mode) } }

    /// Removes an item from those of `modes` that are this loop's. Returns the modes whose leaving must be notified.
    func takeOut(_ item: Item, from modes: ModeList) -> [ModeState] {
        lock.withLock { takeOutWhileLocked(item, from: modes) }
    }

    /// Takes a timer out of a mode that another thread has invalidated, and is about to take out. Meanwhile it would be
    /// due again and again, as in `ModeState.updateWatches(of:)`.
    @inline(never)
    func takeOutInvalid(_ timer: Timer, from mode: ModeState) {
        // A timer is not notified.
        _ = takeOut(timer, from: ModeList(mode, nil, []))
    }

    // The rest is called with the lock held.

    @inline(__always)
    func join(_ item: Item, _ state: ModeState) -> Bool {
        lock.assertHeld()
        guard item.join(state) else { return false }
        item.insert(into: state, of: self)
        return true
    }

    /// The last mode first: to remove the first of M modes takes time that grows with M.
    private func takeOutWhileLocked(_ item: Item, from modes: some BidirectionalCollection<ModeState>) -> [ModeState] {
        lock.assertHeld()
        var left: [ModeState] = []
        for mode in modes.reversed() where takeOutWhileLocked(item, from: mode) { left.append(mode) }
        left.reverse()
        return left
    }

    private func takeOutWhileLocked(_ item: Item, from mode: ModeState) -> Bool {
        guard mode.waker === waker, item.isIn(mode) else { return false }
        // In this order: once it has left, another loop may add it, under another lock.
        mode.takeOut(item)
        return item.leave(mode)
    }
}
