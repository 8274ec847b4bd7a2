// How an input lets go of what it has added to loops for itself, on any thread. A loop that sleeps with nothing else to
// wait for would not notice: its run is to end.

extension Loop.Item {
    /// Invalidates the item, and wakes the loops that it was in.
    func retire() {
        guard isValid else { return }
        let loops = currentModes.compactMap(\.loop)
        invalidate()
        for loop in loops where !loop.isOnOwnThread { loop.wakeUp() }
    }
}

extension Loop {
    /// Removes an item from a mode, and wakes the loop.
    func retract(_ item: Item, in mode: Mode) {
        remove(item, in: mode)
        if !isOnOwnThread { wakeUp() }
    }
}
