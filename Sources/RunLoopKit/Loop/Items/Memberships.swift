/// The modes that an item is in, and the notifications that it has yet to receive. Guarded by the item's lock.
///
/// An item joins and leaves modes with locks held, and is notified (`didJoin`, `didLeave`) without: two steps, between
/// which other threads may act. So each stay in a mode goes through these states:
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
    private struct Notification {
        enum Stay { case continues, ended, endedElsewhere }

        let mode: ModeState
        let thread: ThreadID
        var stay = Stay.continues
    }

    /// The modes that the item is in.
    private(set) var modes = ModeList()

    /// Those of `modes` that the item has not been notified of yet.
    private var unnotified = ModeList()

    private var notifications: [Notification] = []

    /// The modes that the item has left and not been notified of leaving.
    private var left = ModeList()

    /// Whether the item is in no mode, and no notification is due or active.
    var areOver: Bool { modes.isEmpty && left.isEmpty && notifications.isEmpty }

    func contains(_ mode: ModeState) -> Bool { modes.contains(mode) }

    mutating func join(_ mode: ModeState, isNotified: Bool) {
        modes.append(mode)
        if isNotified { unnotified.append(mode) }
    }

    /// Begins to notify the item of a mode. Returns false if it is not to be notified.
    mutating func beginNotifying(of mode: ModeState, on thread: ThreadID) -> Bool {
        guard unnotified.remove(mode) else { return false }
        notifications.append(Notification(mode: mode, thread: thread))
        return true
    }

    /// Ends a call of `didJoin`. Returns whether the item has left the mode meanwhile and must be notified.
    mutating func endNotifying(of mode: ModeState, on thread: ThreadID) -> Bool {
        // The last one, since a handler may have added the item again.
        let index = notifications.lastIndex { $0.mode === mode && $0.thread == thread }!
        guard notifications.remove(at: index).stay == .endedElsewhere else { return false }
        left.append(mode)
        return true
    }

    /// Removes a mode that the item is in. Returns whether the caller must notify the item.
    mutating func leave(_ mode: ModeState, isNotified: Bool, on thread: ThreadID) -> Bool {
        _ = modes.remove(mode)
        guard isNotified, !unnotified.remove(mode) else { return false }
        if let index = notifications.firstIndex(where: { $0.mode === mode && $0.stay == .continues }) {
            let isInside = notifications[index].thread == thread
            notifications[index].stay = isInside ? .ended : .endedElsewhere
            guard isInside else { return false }
        }
        left.append(mode)
        return true
    }

    mutating func endLeaving(_ mode: ModeState) { _ = left.remove(mode) }
}
