extension Loop {
    // All of it is called with the lock held.

    /// The mode's state; nil if it does not exist yet.
    @inline(__always)
    func existingState(for mode: Mode) -> ModeState? {
        lock.assertHeld()
        return mode.isDefault ? defaultState : existingOtherState(for: mode)
    }

    @inline(never)
    func existingOtherState(for mode: Mode) -> ModeState? {
        guard let state = find(mode) else { return nil }
        catchUp(state)
        return state
    }

    /// Finds a mode other than the default one, which is the first. Most loops have few modes: comparing the names of
    /// some takes less time than hashing one.
    @inline(__always)
    private func find(_ mode: Mode) -> ModeState? {
        let compared = min(modeStates.count, 4)
        for index in 1..<compared where modeStates[index].mode == mode { return modeStates[index] }
        return compared < modeStates.count ? statesByMode[mode] : nil
    }

    /// The mode's state, made if it does not exist yet.
    @inline(__always)
    func state(for mode: Mode) -> ModeState { existingState(for: mode) ?? makeState(for: mode) }

    @inline(never)
    func makeState(for mode: Mode) -> ModeState {
        lock.assertHeld()
        let state = makeState(mode, isCommon: commonModes.contains(mode))
        modeStates.append(state)
        statesByMode[mode] = state
        return state
    }

    /// Represents `common`, which is not a mode: no run is in it.
    func stateOfCommon() -> ModeState {
        lock.assertHeld()
        if let commonMembership { return commonMembership }
        let state = makeState(.common, isCommon: false)
        commonMembership = state
        return state
    }

    private func makeState(_ mode: Mode, isCommon: Bool) -> ModeState {
        let state = ModeState(
            mode, isCommon: isCommon, waker: waker, isVirtual: clock.isVirtual, threadOfLoop: owner,
            takesMainActor: takesMainActor)
        state.loop = self
        return state
    }
}
