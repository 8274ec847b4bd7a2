extension Loop {
    /// Adds a source, a timer or an observer to a mode: the default one unless another is named. Adding to `common`
    /// adds to all common modes, also to later ones.
    ///
    /// A sleeping loop that runs in this mode takes notice at once.
    ///
    /// - Returns: Whether the item is in the mode now. False when it was refused: it is invalid, it is in another loop
    ///   and of a kind that cannot be in two (all but `Source0` and `PortSource`), or this loop has ended. Adding an
    ///   item that is there already changes nothing, and is true.
    /// - Precondition: The kernel accepts the source's descriptor, which it does unless memory or
    ///   `fs.epoll.max_user_watches` is exhausted, or the descriptor is an epoll set that watches this loop or is its own
    ///   (`beginHosting(_:)`); then it traps and says so, at the latest when the mode runs.
    ///
    /// CF: `CFRunLoopAddSource`, `CFRunLoopAddTimer`, `CFRunLoopAddObserver`.
    @discardableResult
    public func add(_ item: Item, in mode: Mode = .default) -> Bool {
        let (joined, isIn) = lock.withLock { () -> ([Mode], Bool) in
            guard !refusesWork, item.isValid else { return ([], false) }
            guard mode == .common else {
                let state = state(for: mode)
                return (join(item, state) ? [mode] : [], item.isIn(state))
            }
            let membership = stateOfCommon()
            if item.join(membership) { commonItems.append(item) }
            guard item.isIn(membership) else { return ([], false) }
            return (commonModes.filter { join(item, state(for: $0)) }, true)
        }
        for mode in joined { item.didJoin(mode, of: self) }
        if !isIn { complainIfMainIsGone() }
        return isIn
    }

    /// Takes an item out of a mode: out of the default one, and no other, unless another is named. Out of `common`
    /// takes it out of all common modes, also if it was added there by name. It stays valid, and may be added again.
    /// Does nothing when the item is not there.
    ///
    /// Observers and version-0 sources that the current step of a pass has collected already are still called.
    /// CF: `CFRunLoopRemoveSource`, `CFRunLoopRemoveTimer`, `CFRunLoopRemoveObserver`.
    public func remove(_ item: Item, in mode: Mode = .default) {
        let left = lock.withLock { () -> [Mode] in
            guard mode == .common else {
                return existingState(for: mode).map { leave(item, $0) } ?? false ? [mode] : []
            }
            guard let commonMembership, item.leave(commonMembership) else { return [] }
            commonItems.removeAll { $0 === item }
            return commonModes.filter { existingState(for: $0).map { leave(item, $0) } ?? false }
        }
        for mode in left { item.tellLeft(mode, of: self) }
    }

    /// Whether an item is in a mode, the default one unless another is named; for `common`, whether it was added to
    /// that name.
    /// CF: `CFRunLoopContainsSource`, `CFRunLoopContainsTimer`, `CFRunLoopContainsObserver`.
    public func contains(_ item: Item, in mode: Mode = .default) -> Bool {
        lock.withLock {
            let state = mode == .common ? commonMembership : existingState(for: mode)
            return state.map { item.isIn($0) } ?? false
        }
    }

    /// Makes a mode a common one, for ever. What was added to `common` before joins it. The mode itself exists once
    /// something is added to it. Naming `common` itself changes nothing. CF: `CFRunLoopAddCommonMode`.
    public func addCommonMode(_ mode: Mode) {
        let joined = lock.withLock { () -> [Item] in
            guard !refusesWork, mode != .common, !commonModes.contains(mode) else { return [] }
            commonModes.append(mode)
            guard !commonItems.isEmpty else { return [] }
            let state = state(for: mode)
            return commonItems.filter { join($0, state) }
        }
        for item in joined { item.didJoin(mode, of: self) }
    }

    /// Whether a mode is a common one, or the name `common` itself.
    public func isCommon(_ mode: Mode) -> Bool { mode == .common || lock.withLock { commonModes.contains(mode) } }

    /// Takes an item that was invalidated out of one of this loop's modes.
    func removeInvalid(_ item: Item, from state: ModeState) {
        let hasLeft = lock.withLock {
            guard state.mode == .common else { return leave(item, state) }
            if item.leave(state) { commonItems.removeAll { $0 === item } }
            return false
        }
        if hasLeft { item.tellLeft(state.mode, of: self) }
    }

    // The rest is called with the lock held.

    private func join(_ item: Item, _ state: ModeState) -> Bool {
        guard item.join(state) else { return false }
        item.insert(into: state)
        return true
    }

    private func leave(_ item: Item, _ state: ModeState) -> Bool {
        guard item.isIn(state) else { return false }
        // In this order: once it has left, another loop may take it, under another lock.
        item.remove(from: state)
        return item.leave(state)
    }

    func existingState(for mode: Mode) -> ModeState? { modeStates.first { $0.mode == mode } }

    /// The mode's state, made if it does not exist.
    func state(for mode: Mode) -> ModeState {
        if let state = existingState(for: mode) { return state }
        let state = ModeState(mode, of: self)
        modeStates.append(state)
        return state
    }

    /// Stands for membership in `common`, which is not a mode: no item is ever put into it.
    private func stateOfCommon() -> ModeState {
        if let commonMembership { return commonMembership }
        let state = ModeState(.common, of: self)
        commonMembership = state
        return state
    }
}
