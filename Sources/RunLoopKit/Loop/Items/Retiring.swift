// Any thread may stop a timer that waits to be restarted, or end an input, and with it the timers that the input has
// added to loops. If that was the last item that a sleeping run waits for, the run must wake to end.

extension Loop.Item {
    /// Invalidates the item, and wakes the loops of modes that it leaves empty.
    func retire() { invalidateLeavingModes().wakeIfEmpty() }

    /// Wakes the loops of the item's modes in which nothing is left but what is of the background.
    @inline(never)
    func wakeLoopIfEmpty() {
        itemLock.lock()
        // Nearly always. Without the loop it takes 60 instructions instead of 400.
        let isHere =
            firstModeWhileLocked == nil || withFirstModeWhileLocked { $0.threadOfLoop == ThreadLoops.currentID }
        itemLock.unlock()
        if !isHere { currentModes.wakeIfEmpty() }
    }
}

extension Loop {
    /// Removes an item from a mode, and wakes the loop if that leaves the mode empty.
    func retract(_ item: Item, in mode: Mode) {
        let left = item.currentModes.filter { $0.loop === self }
        remove(item, in: mode)
        left.wakeIfEmpty()
    }
}

extension Sequence<ModeState> {
    /// Wakes the loops of those modes in which nothing is left but what is of the background, unless the calling thread
    /// runs them. A run that counts the background goes on.
    func wakeIfEmpty() {
        for mode in self {
            guard let loop = mode.loop, !loop.isOnOwnThread else { continue }
            if loop.lock.withLock({ !mode.hasForeground && mode !== loop.commonMembership }) { loop.wakeUp() }
        }
    }
}
