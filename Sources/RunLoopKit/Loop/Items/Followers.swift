extension Loop.Item {
    /// Adds an item that follows this one to modes that this one is in. From then on `didJoin` and `didLeave` add and
    /// remove it.
    ///
    /// Not to the common modes by name, unless this one is invalid: no item is told when it leaves that name. It is
    /// told of each common mode. An invalid item does not move any more, and what follows it may stay, to complete its
    /// end.
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
}
