import Synchronization

extension Loop {
    /// What can be added to a loop: a source, a timer or an observer.
    ///
    /// Items are added by `Loop.add(_:in:)` and taken out by `Loop.remove(_:in:)` or, from every mode of every loop at
    /// once, by `invalidate()`, which also releases its handlers. A loop retains the items in it; an item does not
    /// retain its loops. Dropping one's own reference to an item that is in no loop ends it.
    ///
    /// Everything here may be called from any thread.
    public class Item: @unchecked Sendable {
        // For the maintainer. The list of memberships is changed only with both the item's lock and the lock of the
        // loop concerned held, so it may be read under either: under the loop's lock for that loop's modes, under the
        // item's lock for all. Order: a loop's lock first, the item's (a leaf) second.
        let itemLock = Lock()
        private var memberships: [ModeState] = []
        private let valid = Atomic<Bool>(true)

        /// How many modes the item has left without having been told yet: until then an invalid item keeps its
        /// handlers.
        private var untoldLeavings = 0

        init() {}

        /// Whether the item can still be added and called. False for ever after `invalidate()`. CF:
        /// `CFRunLoopSourceIsValid` and the like.
        public final var isValid: Bool { valid.load(ordering: .acquiring) }

        /// Takes the item out of every mode of every loop, at once and for good, and releases its handlers with what
        /// they captured. May be called inside the item's own handler. A second call does nothing. CF:
        /// `CFRunLoopSourceInvalidate` and the like.
        public final func invalidate() {
            let found = itemLock.withLock { () -> [ModeState]? in
                guard valid.exchange(false, ordering: .acquiringAndReleasing) else { return nil }
                return memberships
            }
            guard let modes = found else { return }
            // Nobody can add the item any more; whoever removes it meanwhile is simply faster.
            for mode in modes { mode.loop?.removeInvalid(self, from: mode) }
            if itemLock.withLock({ untoldLeavings == 0 }) { releaseHandlers() }
        }

        // MARK: Membership, for the loop. All called with the loop's lock held.

        /// Records that the item joins `mode`; false when it may not: it is invalid, there already, or in another loop.
        final func join(_ mode: ModeState) -> Bool {
            itemLock.withLock {
                guard isValid, !memberships.contains(where: { $0 === mode }) else { return false }
                if !canBeInManyLoops, let other = memberships.first, other.waker !== mode.waker { return false }
                memberships.append(mode)
                return true
            }
        }

        /// Records that the item leaves `mode`; false when it is not there.
        final func leave(_ mode: ModeState) -> Bool {
            itemLock.withLock {
                guard let index = memberships.firstIndex(where: { $0 === mode }) else { return false }
                memberships.remove(at: index)
                if mode.mode != .common { untoldLeavings += 1 }
                return true
            }
        }

        /// Tells the item that it has left a mode of `loop`; nil for a loop that is going itself. To be called without
        /// any lock, once for each time that `leave` was true.
        final func tellLeft(_ mode: Mode, of loop: Loop?) {
            if let loop { didLeave(mode, of: loop) }
            let isLast = itemLock.withLock {
                untoldLeavings -= 1
                return untoldLeavings == 0 && !isValid
            }
            if isLast { releaseHandlers() }
        }

        final func isIn(_ mode: ModeState) -> Bool { itemLock.withLock { memberships.contains { $0 === mode } } }

        /// The modes the item is in, of all its loops.
        final var currentModes: [ModeState] { itemLock.withLock { memberships } }

        /// The same, for callers that hold the item's lock.
        final var modesWhileLocked: [ModeState] { memberships }

        // MARK: What kinds of items differ in

        /// Whether several loops may have the item at the same time. Only `Source0` and `PortSource` can be shared.
        var canBeInManyLoops: Bool { true }

        /// Puts the item where it belongs in a mode it has joined. The loop's lock is held.
        func insert(into mode: ModeState) {}

        /// Takes it out of a mode that it is about to leave. The loop's lock is held.
        func remove(from mode: ModeState) {}

        /// The item has joined, or left, a mode of `loop`. Called without any lock.
        func didJoin(_ mode: Mode, of loop: Loop) {}
        func didLeave(_ mode: Mode, of loop: Loop) {}

        /// A loop that the item was in has ended. Called without any lock.
        func loopHasEnded() {}

        /// The item is invalid, in no mode any more, and knows it. May be called twice; without any lock, since what handlers
        /// captured may call us as it goes.
        func releaseHandlers() {}

        /// Takes out what is to go with the item's lock held, and lets it go without: see `releaseHandlers()`.
        final func letGo<Captured>(_ takeOut: () -> Captured) {
            let released = itemLock.withLock(takeOut)
            withExtendedLifetime(released) {}
        }
    }
}
