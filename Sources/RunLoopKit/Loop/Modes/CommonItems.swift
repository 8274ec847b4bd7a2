// How items that were added to `common` join the common modes.
//
// An item joins at once the modes that a pass may serve before anything looks them up: the default mode, and those of
// active runs. Every other common mode catches up later: when its name is looked up, when all modes are listed, or when
// an item of `common` is removed from a mode. So an item costs nothing for modes that merely exist, and a caller that
// looks at a mode finds the items in it, in order. When a mode catches up shows nowhere: it wakes no loop.

extension Loop {
    /// Adds an item to `common`. Returns the modes whose joining must be notified, and whether it is in `common` now.
    /// The lock is held.
    func joinCommon(_ item: Item) -> (joined: [ModeState], isIn: Bool) {
        lock.assertHeld()
        let membership = stateOfCommon()
        guard item.join(membership) else {
            return item.isIn(membership) ? (rejoin(item), true) : ([], false)
        }
        assert(defaultState.commonTurn == lastCommonTurn, "RunLoopKit: the default mode lacks items of common modes.")
        if commonModes.mayNotExist { for mode in commonModes.takeThoseToMake() { _ = state(for: mode) } }
        lastCommonTurn = waker.turns.next()
        membership.commonItems.insert(item, turn: lastCommonTurn)
        let joined = item.isNotifiedOfModes ? commonStates.filter { !item.isIn($0) } : []
        defaultState.commonTurn = lastCommonTurn
        _ = join(item, defaultState)
        if item.isNotifiedOfModes {
            // It learns of all modes now.
            catchUpAll()
        } else if let innermostRun {
            for run in innermostRun.stack { catchUp(run.mode) }
        }
        item.wakeIfReady(waker)
        return (joined, true)
    }

    /// Adds an item that is in `common` to the common modes that it has left by name. Returns these.
    private func rejoin(_ item: Item) -> [ModeState] {
        catchUpAll()
        let joined = commonStates.filter { join(item, $0) }
        if !joined.isEmpty { item.wakeIfReady(waker) }
        return joined
    }

    /// The common modes, in the order in which they became common.
    private var commonStates: [ModeState] { commonModes.all.compactMap { statesByMode[$0] } }

    /// Lets items that were added to `common` since a mode was last looked up join that mode.
    @inline(__always)
    func catchUp(_ mode: ModeState) {
        lock.assertHeld()
        if mode.commonTurn != lastCommonTurn, mode.isCommon { catchUpSlowly(to: mode) }
    }

    @inline(never)
    private func catchUpSlowly(to mode: ModeState) {
        let seen = mode.commonTurn
        mode.commonTurn = lastCommonTurn
        for (item, turn) in commonMembership?.commonItems.elements(after: seen) ?? [] where join(item, mode) {
            // As if it had joined when it was added: ports are served in the order of their sends.
            mode.setInsertionTurn(turn, of: item)
        }
    }

    /// Lets all common modes catch up.
    func catchUpAll() { for mode in modeStates { catchUp(mode) } }

    /// All modes that exist, for those who look at their items.
    var modesWithItems: [ModeState] {
        catchUpAll()
        return modeStates
    }
}

extension Loop.Item {
    /// As `currentModes`, with the common modes that have yet to catch up: for people to read.
    final var allModes: ModeList {
        for loop in currentModes.lazy.filter({ $0.mode.namesCommonModes }).compactMap(\.loop) {
            loop.lock.withLock { loop.catchUpAll() }
        }
        return currentModes
    }
}
