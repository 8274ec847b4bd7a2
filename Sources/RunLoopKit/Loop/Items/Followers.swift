extension Loop.Item {
    /// Adds an item that follows this one to modes that this one is in. From then on `didJoin` and `didLeave` add and
    /// remove it.
    ///
    /// It is added to each common mode, but not to `common`, for which `didLeave` is not called. What follows an
    /// invalid item is added there, too: that item moves no more, and the follower may stay to complete its end.
    func takeAlong(_ follower: Loop.Item, to modes: ModeList) {
        var modes = modes
        while true {
            var hasMoved = false
            for mode in modes where !mode.mode.namesCommonModes || !isValid {
                guard let loop = mode.loop else { continue }
                loop.insert(follower, in: mode.mode)
                // In this order: an item becomes invalid before it leaves its modes for that reason.
                guard !isIn(mode), isValid else { continue }
                loop.retract(follower, in: mode.mode)
                hasMoved = true
            }
            guard hasMoved else { return }
            // The loop that has this one now has refused the follower, if it was still in the other one.
            modes = currentModes
        }
    }

    /// Removes an item that follows this one from a mode that this one has left.
    func leaveBehind(_ follower: Loop.Item, in mode: Loop.Mode, of loop: Loop) {
        loop.remove(follower, in: mode)
        // Another thread may have added this one again meanwhile.
        if follower.isValid { takeAlong(follower, to: currentModes) }
    }
}
