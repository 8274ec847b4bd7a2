// Any thread may end an input, and with it the timers that the input has added to loops. If such a timer was the last
// item that a sleeping run waits for, the run must wake to end.

extension Loop.Item {
    /// Invalidates the item, and wakes the loops that it was in.
    func retire() {
        for loop in invalidateLeavingLoops() where !loop.isOnOwnThread { loop.wakeUp() }
    }
}

extension Loop {
    /// Removes an item from a mode, and wakes the loop.
    func retract(_ item: Item, in mode: Mode) {
        remove(item, in: mode)
        if !isOnOwnThread { wakeUp() }
    }
}
