extension Loop.Item {
    /// What few items have, so that the others have room for one reference only.
    class Rare {
        // Exclusivity is unchecked, as in `Item`, whose lock guards these.

        /// What diagnostics call the item, if it was given a label.
        @exclusivity(unchecked) final var label: String?

        @exclusivity(unchecked) final var more: Memberships.More?

        /// See ``Loop/Item/keepsRunsGoing``.
        @exclusivity(unchecked) final var keepsRunsGoing = true

        /// Whether any property differs from that of an item without this object.
        var isNeeded: Bool { label != nil || more != nil || !keepsRunsGoing }
    }

    /// What the item has and few others do; nil if it has none of it. Written with the item's lock held and, while
    /// the item is in a loop, with that of a loop as well. So an item that is in one loop only may read it under
    /// either.
    @inline(__always)
    var rareProperties: Rare? { memberships.rare }

    /// Changes them, with what guards `rareProperties` held.
    @inline(never)
    func changeRareProperties(_ body: (Rare) -> Void) {
        let changed = memberships.rare ?? makeRare()
        body(changed)
        memberships.rare = changed.isNeeded ? changed : nil
    }

    /// Makes the object if there is none, with what guards `rareProperties` held.
    func needRare() { if memberships.rare == nil { memberships.rare = makeRare() } }

    /// Calls `body` with the item's lock held, and that of a loop which it is in.
    func withLocks(_ body: () -> Void) {
        while true {
            let mode = itemLock.withLock { () -> ModeState? in
                if memberships.first == nil { body() }
                return memberships.first
            }
            guard let mode else { return }
            let isStillThere = mode.waker.lock.withLock {
                itemLock.withLock {
                    guard memberships.contains(mode) else { return false }
                    body()
                    return true
                }
            }
            if isStillThere { return }
        }
    }
}

extension Loop.Timer {
    /// What few timers have besides.
    final class Rare: Loop.Item.Rare {
        @exclusivity(unchecked) var tolerance: Int64

        /// When a fire time was requested before the timer was in a loop, on the machine's clock. The timer's turn says
        /// when it was on a virtual one.
        @exclusivity(unchecked) var requestTime: Int64?

        /// Grid instants skipped since the last call.
        @exclusivity(unchecked) var missed = 0

        /// The delay of a repeating timer, if it is not the interval.
        @exclusivity(unchecked) var delay: Int64?

        /// Guarded by the loop's lock.
        @exclusivity(unchecked) var otherSlots: [ObjectIdentifier: UInt32] = [:]

        init(tolerance: Int64 = 0, delay: Int64? = nil) { (self.tolerance, self.delay) = (tolerance, delay) }

        override var isNeeded: Bool {
            super.isNeeded || tolerance != 0 || requestTime != nil || missed != 0 || delay != nil
                || !otherSlots.isEmpty
        }
    }
}
