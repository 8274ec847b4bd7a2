#if DEBUG
    /// The locks that the calling thread holds, as a set of ranks: no thread holds two locks of one rank.
    ///
    /// The set is thread-local, so it ends with a thread that exits, and a forked child has a copy of the forking
    /// thread's. Debug builds only.
    @usableFromInline
    enum HeldLocks {
        /// Records that the thread is about to take a lock; traps if that violates the lock order.
        @usableFromInline
        static func insert(_ rank: Lock.Rank) {
            guard System.heldLockRanks.pointee >= bit(rank) else { return insertInAnyOrder(rank) }
            fatalError(
                "RunLoopKit: a thread that holds a lock of rank '\(ranks.last!)' took one of rank '\(rank)'. See "
                    + "Lock.Rank for the lock order.")
        }

        /// The same for a lock that was free: the thread did not wait for it.
        static func insertInAnyOrder(_ rank: Lock.Rank) { System.heldLockRanks.pointee |= bit(rank) }

        @usableFromInline
        static func remove(_ rank: Lock.Rank) { System.heldLockRanks.pointee &= ~bit(rank) }

        static var areAny: Bool { System.heldLockRanks.pointee != 0 }

        /// From the first in the lock order to the last.
        static var ranks: [Lock.Rank] {
            let held = System.heldLockRanks.pointee
            return held == 0 ? [] : Lock.Rank.allCases.filter { held & bit($0) != 0 }
        }

        /// Identifies the calling thread among those alive; never zero.
        @usableFromInline static var thread: UInt { UInt(bitPattern: System.heldLockRanks) }

        private static func bit(_ rank: Lock.Rank) -> UInt { 1 << UInt(rank.rawValue) }
    }

    extension Lock.Rank: Comparable {
        @usableFromInline
        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }
#endif
