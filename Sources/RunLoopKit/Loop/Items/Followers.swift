extension Loop.Item {
    /// Adds an item that follows this one to modes that this one is in. From then on `didJoin` and `didLeave` add and
    /// remove it.
    ///
    /// Not to the common modes by name: no item is told when it leaves that name. It is told of each common mode.
    func takeAlong(_ follower: Loop.Item, to modes: ModeList) {
        for mode in modes where !mode.mode.namesCommonModes {
            guard let loop = mode.loop else { continue }
            loop.insert(follower, in: mode.mode)
            // This one may have left meanwhile. What follows an invalid item may stay, to complete its end: an item
            // becomes invalid before it leaves its modes for that reason.
            if isValid, !isIn(mode) { loop.retract(follower, in: mode.mode) }
        }
    }
}
