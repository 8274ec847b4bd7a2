/// The modes that an item is in, and the notifications that it has yet to receive. Guarded by the item's lock.
///
/// An item joins and leaves modes with locks held, and is notified (`didJoin`, `didLeave`) without. Other threads may
/// act between these two steps. So each stay in a mode goes through these states:
///
/// | the item is | then comes | and it is |
/// |---|---|---|
/// | out | `join` | in, not notified |
/// | in, not notified | `leave` | out: the item is never notified of this stay |
/// | in, not notified | `beginNotifying`, before `didJoin` | in, notifying |
/// | in, notifying | `endNotifying`, after `didJoin` | in |
/// | in, notifying | `leave` on the thread that calls `didJoin`, inside it | left |
/// | in, notifying | `leave` on another thread | out, notifying: the thread in `didJoin` calls `didLeave` next |
/// | out, notifying | `endNotifying` | left |
/// | in | `leave` | left |
/// | left | `endLeaving`, after `didLeave` | out |
///
/// The item is notified of both the beginning and the end of a stay, in this order, or of neither. It may join a mode
/// again before it is notified that it left: the stays are independent. Items without notifications skip the states
/// between.
struct Memberships {
    /// A call of `didJoin` that has not returned.
    fileprivate struct Notification {
        enum Stay { case continues, ended, endedElsewhere }

        let mode: ModeState
        let thread: ThreadID
        var stay = Stay.continues
    }

    /// What few items have: further modes, and what is left to notify the item of.
    final class More {
        /// The modes after the second, in the order in which the item joined them.
        @exclusivity(unchecked) fileprivate(set) var modes: [ModeState] = []

        /// The modes that the item is in and has not been notified of yet.
        @exclusivity(unchecked) fileprivate var unnotified = ModeList()

        @exclusivity(unchecked) fileprivate var notifications: [Notification] = []

        /// The modes that the item has left and not been notified of leaving.
        @exclusivity(unchecked) fileprivate var left = ModeList()
    }

    // An item in `common` is in that and, mostly, in one common mode.

    /// The mode that the item has been in for the longest time.
    private(set) var first: ModeState?
    /// The mode that it joined next. Nil if the first is.
    private(set) var second: ModeState?

    /// The item's rare properties, `more` among them: one reference for all.
    var rare: Loop.Item.Rare?

    private var more: More? { rare?.more }

    /// The mode that the item is in, if it is in one only.
    var only: ModeState? { second == nil ? first : nil }

    var isOne: Bool { first != nil && second == nil }
    var areMany: Bool { second != nil }

    /// The mode that the item joined last.
    var last: ModeState? { more?.modes.last ?? second ?? first }

    /// The modes that the item is in.
    var modes: ModeList { ModeList(first, second, more?.modes ?? []) }

    /// Whether any of the modes satisfies the condition.
    @inline(__always)
    func contains(where condition: (ModeState) -> Bool) -> Bool {
        // The first two without a retain, since this keeps them.
        if first != nil, Unmanaged.passUnretained(first!)._withUnsafeGuaranteedRef(condition) { return true }
        if second != nil, Unmanaged.passUnretained(second!)._withUnsafeGuaranteedRef(condition) { return true }
        return second != nil && more?.modes.contains(where: condition) ?? false
    }

    /// Calls `body` with each mode after the second.
    @inline(never)
    func forEachFurther(_ body: (ModeState) -> Void) { more?.modes.forEach(body) }

    /// Whether the item is in no mode, and no notification is due or active.
    var areOver: Bool {
        guard first == nil, let more else { return first == nil }
        return more.left.isEmpty && more.notifications.isEmpty
    }

    func contains(_ mode: ModeState) -> Bool {
        guard first !== mode, second !== mode, let more, let last = more.modes.last else {
            return first === mode || second === mode
        }
        // The last one first: an item leaves all its modes in this order.
        return last === mode || more.modes.contains { $0 === mode }
    }

    /// - Parameter makeRare: Makes an object for `rare`.
    @inline(__always)
    mutating func join(_ mode: ModeState, isNotified: Bool, _ makeRare: @autoclosure () -> Loop.Item.Rare) {
        if first == nil, !isNotified { first = mode } else { joinSlowly(mode, isNotified: isNotified, makeRare) }
    }

    @inline(never)
    private mutating func joinSlowly(_ mode: ModeState, isNotified: Bool, _ makeRare: () -> Loop.Item.Rare) {
        if first != nil && second != nil || isNotified, more == nil {
            if rare == nil { rare = makeRare() }
            rare!.more = More()
        }
        if first == nil { first = mode } else if second == nil { second = mode } else { more!.modes.append(mode) }
        if isNotified { more!.unnotified.append(mode) }
    }

    private mutating func remove(_ mode: ModeState) {
        if first === mode {
            (first, second) = (second, third())
        } else if second === mode {
            second = third()
        } else if let more, let index = more.modes.lastIndex(where: { $0 === mode }) {
            more.modes.remove(at: index)
        }
    }

    /// Takes out the mode that follows when one of the first two leaves.
    private func third() -> ModeState? { more.flatMap { $0.modes.isEmpty ? nil : $0.modes.removeFirst() } }

    /// Begins to notify the item of a mode. Returns false if it is not to be notified.
    func beginNotifying(of mode: ModeState, on thread: ThreadID) -> Bool {
        guard let more, more.unnotified.remove(mode) else { return false }
        more.notifications.append(Notification(mode: mode, thread: thread))
        return true
    }

    /// Ends a call of `didJoin`. Returns whether the item has left the mode meanwhile and must be notified.
    func endNotifying(of mode: ModeState, on thread: ThreadID) -> Bool {
        let more = more!
        // The last one, since a handler may have added the item again.
        let index = more.notifications.lastIndex { $0.mode === mode && $0.thread == thread }!
        guard more.notifications.remove(at: index).stay == .endedElsewhere else { return false }
        more.left.append(mode)
        return true
    }

    /// Removes a mode that the item is in. Returns whether the caller must notify the item.
    @inline(__always)
    mutating func leave(_ mode: ModeState, isNotified: Bool, on thread: ThreadID) -> Bool {
        assert(contains(mode), "RunLoopKit: an item leaves a mode that it is not in.")
        guard more == nil else { return leaveSlowly(mode, isNotified: isNotified, on: thread) }
        if second === mode {
            second = nil
        } else {
            first = second.take()
        }
        return false
    }

    @inline(never)
    private mutating func leaveSlowly(_ mode: ModeState, isNotified: Bool, on thread: ThreadID) -> Bool {
        remove(mode)
        guard isNotified, let more, !more.unnotified.remove(mode) else { return false }
        if let index = more.notifications.firstIndex(where: { $0.mode === mode && $0.stay == .continues }) {
            let isInside = more.notifications[index].thread == thread
            more.notifications[index].stay = isInside ? .ended : .endedElsewhere
            guard isInside else { return false }
        }
        more.left.append(mode)
        return true
    }

    func endLeaving(_ mode: ModeState) { _ = more?.left.remove(mode) }
}
