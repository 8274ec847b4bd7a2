/// The modes that an item is in, and those it has still to hear about. Guarded by the item's lock.
///
/// An item joins and leaves modes with locks held, and hears of it (`didJoin`, `didLeave`) without: two steps, which
/// other threads can come between. So each stay in a mode goes through these states:
///
/// | the item is | then comes | and it is |
/// |---|---|---|
/// | out | `join` | in, unheard of |
/// | in, unheard of | `beginHearing`, right before `didJoin` | in |
/// | in, unheard of | `leave` | out: it never hears of this stay |
/// | in | `leave` | left |
/// | left | `endLeaving`, right after `didLeave` | out |
///
/// Of each stay the item hears both the beginning and the end, in this order, or neither. It may join a mode again
/// before it has heard that it left it: the two stays are independent. Items that hear nothing skip the states between.
struct Memberships {
    /// Where the item is.
    private(set) var modes: [ModeState] = []

    /// Those of `modes` that the item has not heard of yet.
    private var unheardOf: [ModeState] = []

    /// The modes that the item has left, until it has heard so.
    private var left: [ModeState] = []

    /// Whether the item is in no mode, and has heard of the last leaving.
    var areOver: Bool { modes.isEmpty && left.isEmpty }

    func contains(_ mode: ModeState) -> Bool { modes.contains { $0 === mode } }

    mutating func join(_ mode: ModeState, hears: Bool) {
        modes.append(mode)
        if hears { unheardOf.append(mode) }
    }

    /// Whether the item is to hear now that it is in a mode.
    mutating func beginHearing(of mode: ModeState) -> Bool { unheardOf.remove(mode) }

    /// Takes the item out of a mode that it is in. Whether it is to hear of it.
    mutating func leave(_ mode: ModeState, hears: Bool) -> Bool {
        _ = modes.remove(mode)
        guard hears, !unheardOf.remove(mode) else { return false }
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
