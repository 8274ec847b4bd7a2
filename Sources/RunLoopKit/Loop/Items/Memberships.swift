/// The modes that an item is in, and those it has still to hear about. Guarded by the item's lock.
///
/// An item joins and leaves modes with locks held, and hears of it (`didJoin`, `didLeave`) without: two steps, which
/// other threads can come between. So each stay in a mode goes through these states:
///
/// | the item is | then comes | and it is |
/// |---|---|---|
/// | out | `join` | in, unheard of |
/// | in, unheard of | `leave` | out: it never hears of this stay |
/// | in, unheard of | `beginHearing`, before `didJoin` | in, hearing |
/// | in, hearing | `endHearing`, after `didJoin` | in |
/// | in, hearing | `leave` on the thread that calls `didJoin`, inside it | left |
/// | in, hearing | `leave` on another thread | gone, hearing: the thread that called `didJoin` calls `didLeave` too |
/// | gone, hearing | `endHearing` | left |
/// | in | `leave` | left |
/// | left | `endLeaving`, after `didLeave` | out |
///
/// Of each stay the item hears both the beginning and the end, in this order, or neither. It may join a mode again
/// before it has heard that it left it: the two stays are independent. Items that hear nothing skip the states between.
struct Memberships {
    /// A call of `didJoin` that is going on.
    private struct Hearing {
        enum Stay { case goesOn, ended, endedUnheard }

        let mode: ModeState
        let thread: ThreadID
        var stay = Stay.goesOn
    }

    /// Where the item is.
    private(set) var modes: [ModeState] = []

    /// Those of `modes` that the item has not heard of yet.
    private var unheardOf: [ModeState] = []

    private var hearings: [Hearing] = []

    /// The modes that the item has left, until it has heard so.
    private var left: [ModeState] = []

    /// Whether the item is in no mode, and hears of none.
    var areOver: Bool { modes.isEmpty && left.isEmpty && hearings.isEmpty }

    func contains(_ mode: ModeState) -> Bool { modes.contains { $0 === mode } }

    mutating func join(_ mode: ModeState, hears: Bool) {
        modes.append(mode)
        if hears { unheardOf.append(mode) }
    }

    /// Whether the item is to hear now that it is in a mode.
    mutating func beginHearing(of mode: ModeState, on thread: ThreadID) -> Bool {
        guard unheardOf.remove(mode) else { return false }
        hearings.append(Hearing(mode: mode, thread: thread))
        return true
    }

    /// Whether the item has left the mode meanwhile, and is to hear of it now.
    mutating func endHearing(of mode: ModeState, on thread: ThreadID) -> Bool {
        // The last one: a handler may have added the item again.
        let index = hearings.lastIndex { $0.mode === mode && $0.thread == thread }!
        guard hearings.remove(at: index).stay == .endedUnheard else { return false }
        left.append(mode)
        return true
    }

    /// Takes the item out of a mode that it is in. Whether the caller is to make it hear of it.
    mutating func leave(_ mode: ModeState, hears: Bool, on thread: ThreadID) -> Bool {
        _ = modes.remove(mode)
        guard hears, !unheardOf.remove(mode) else { return false }
        if let index = hearings.firstIndex(where: { $0.mode === mode && $0.stay == .goesOn }) {
            let isInside = hearings[index].thread == thread
            hearings[index].stay = isInside ? .ended : .endedUnheard
            guard isInside else { return false }
        }
        left.append(mode)
        return true
    }

    mutating func endLeaving(_ mode: ModeState) { _ = left.remove(mode) }
}

extension [ModeState] {
    /// Removes the mode once; false when it is not there.
    fileprivate mutating func remove(_ mode: ModeState) -> Bool {
        guard let index = firstIndex(where: { $0 === mode }) else { return false }
        remove(at: index)
        return true
    }
}
