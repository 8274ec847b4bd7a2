/// The modes that an item is in.
extension Loop.Item {
    func isIn(_ mode: ModeState) -> Bool {
        itemLock.lock()
        defer { itemLock.unlock() }
        return isInWhileLocked(mode)
    }

    /// A loop that the item is in, and its first mode there.
    var firstPlace: (loop: Loop, mode: Loop.Mode)? {
        itemLock.withLock { memberships.first.flatMap { state in state.loop.map { ($0, state.mode) } } }
    }

    /// As `isIn(_:)`, for callers that hold the item's lock.
    func isInWhileLocked(_ mode: ModeState) -> Bool { memberships.contains(mode) }

    /// The modes the item is in, of all its loops.
    var currentModes: ModeList { itemLock.withLock { memberships.modes } }

    /// As `currentModes`, for callers that hold the item's lock.
    var modesWhileLocked: ModeList { memberships.modes }

    /// Whether the item is in one mode only, for callers that hold the item's lock.
    @inline(__always)
    var isInOneModeWhileLocked: Bool { memberships.isOne }

    /// Whether the item is in any mode, for callers that hold the item's lock.
    @inline(__always)
    var isInModeWhileLocked: Bool { memberships.first != nil }

    /// Calls `body` with each mode that the item is in, for callers that hold the item's lock. Retains nothing.
    @inline(__always)
    func forEachModeWhileLocked(_ body: (ModeState) -> Void) {
        guard memberships.areMany else {
            if memberships.first != nil { withFirstModeWhileLocked(body) }
            return
        }
        // Not by a method of `memberships`, which is copied for it: that takes three retains.
        Unmanaged.passUnretained(memberships.first!)._withUnsafeGuaranteedRef(body)
        Unmanaged.passUnretained(memberships.second!)._withUnsafeGuaranteedRef(body)
        if memberships.rare != nil { memberships.forEachFurther(body) }
    }

    /// Calls `body` with `firstModeWhileLocked`, for callers that hold the item's lock. Without a retain: the
    /// membership keeps the mode alive.
    ///
    /// - Precondition: The item is in a mode.
    @inline(__always)
    func withFirstModeWhileLocked<Result>(_ body: (ModeState) -> Result) -> Result {
        Unmanaged.passUnretained(memberships.first!)._withUnsafeGuaranteedRef(body)
    }

    /// The mode that the item has been in for the longest time, for callers that hold the item's lock.
    var firstModeWhileLocked: ModeState? { memberships.first }

    /// The sequence number of an event of the item, for callers that hold the item's lock.
    @inline(__always)
    func nextTurnWhileLocked() -> UInt64 {
        // Nearly always: without a list of modes, and without a retain, since the membership keeps the mode alive. With
        // the list a message takes 2,380 instructions instead of 1,570.
        if memberships.first != nil, isInOneLoop {
            return Unmanaged.passUnretained(memberships.first!)._withUnsafeGuaranteedRef { $0.nextTurn() }
        }
        return TurnCounter.next(in: memberships.modes.map { $0.edgeNote })
    }

    /// Whether a loop's innermost run is in a mode of the item, for callers that hold the item's lock. Relaxed: a
    /// run that begins or ends at the same moment may as well do so a moment later.
    var isServedWhileLocked: Bool {
        memberships.contains { $0.isRunning.load(ordering: .relaxed) }
    }

    /// Whether the item certainly is in one loop only, or in none. The item's lock is held.
    @inline(__always)
    var isInOneLoop: Bool { !memberships.areMany || !canBeInManyLoops }
}
