import Synchronization

extension Loop {
    /// An object that can be added to a loop: a source, a timer or an observer. Any thread may call everything here.
    ///
    /// ``Loop/add(_:in:)`` adds an item. ``Loop/remove(_:in:)`` removes it from a mode. ``Loop/Item/invalidate()``
    /// removes it from every mode of every loop, and releases its handlers.
    ///
    /// **Lifetime.** A loop retains its items, but an item does not retain its loops. An item retains its handlers,
    /// with what they capture, until it is invalidated or deallocated. A loop that ends releases its items; one that
    /// the program retains can join another loop.
    ///
    /// **A handler that is set later.** Every item can be made without a handler, so that an object can make its items
    /// in its `init`, and then set handlers that capture it: `timer.setHandler { [weak self] _ in self?.tick() }`. Each
    /// kind has this method, with the forms `setHandler(isolation: actor) { actor, … in }` and `setHandler(isolation:
    /// .shared) { … }`. Call it before the item is added or afterwards, any number of times:
    ///
    /// - *Until there is a handler,* an item in a mode keeps runs going as usual, and is not served: a due timer, a
    ///   signal, a message or a descriptor's data waits, and no loop wakes for it. The first handler wakes the loop if
    ///   something waits.
    /// - *A new handler* counts from the next call. A call that runs finishes with the old one, and so may one that
    ///   another thread's loop is about to make. The old one is released as soon as neither uses it.
    /// - *An invalid item* takes no handler: `setHandler` releases it and returns false.
    /// - *If the old handler's actor was deallocated,* and another thread's loop is about to call it, that call
    ///   invalidates the item. Replace the handler on the loop's thread.
    ///
    /// A handler that captures a ``LoopThread``, or the object that holds it, keeps both alive for ever. Capture `[weak
    /// self]`, or make the item with `isolation: self`: <doc:KeepingAThreadAlive>.
    ///
    /// **Handlers of an actor,** made with `isolation:`, touch the actor's state without `await`:
    ///
    /// - The actor's executor is the item's loop, or another loop of the same thread. Otherwise the first call traps,
    ///   and names the actor.
    /// - The handler gets the actor as its first parameter. The item does not retain the actor: once that is
    ///   deallocated, the next call invalidates the item instead. Until then the item keeps runs going, and an owned
    ///   descriptor open: where that counts, invalidate it in the actor's `deinit`. (If the actor held the only
    ///   reference to its ``LoopThread``, the loop ends, and the item leaves it.)
    /// - While the handler runs, no job of Swift concurrency begins on the loop that calls it, not even in a nested
    ///   run. (If the actor is on another loop of the thread, do not run that one inside the handler.)
    ///
    /// **Handlers of the main actor,** made with `isolation: .shared`, have rules of their own:
    ///
    /// - The item is for ``Loop/main``: another loop refuses it (``Loop/Mistake/refusedItem(item:reason:)``). A loop in
    ///   virtual time takes it, too, for a test. There each call traps unless it is on the main actor.
    /// - The handler has no parameter for the actor. Capture `[weak self]`, and invalidate the item in the object's
    ///   `deinit`; <doc:KeepingAThreadAlive#Weak-or-unowned> has the exceptions.
    /// - On ``Loop/main``, a run nested in the handler, in a common mode, serves the main actor's jobs. Inside a *job*
    ///   of the main actor it does not.
    public class Item: @unchecked Sendable {
        // For the maintainer. Memberships change only with both the item's lock and the lock of the loop concerned
        // held, so they may be read under either: under the loop's lock for that loop's modes, under the item's lock
        // for all. Lock order: the loop's first, then the item's.
        //
        // | the item is | then comes | and it is |
        // |---|---|---|
        // | without handler | `replaceHandler` | valid, and its kind's `hasGotHandler()` is called |
        // | valid | `invalidate()` | invalid: it joins no mode, and every loop removes it from all its modes |
        // | invalid | it is in no mode, and was notified of leaving the last | released: its handlers are released |
        //
        // The large properties come first: those of a subclass fill the gap after the small ones. What few items have
        // is in an object, `rareProperties`.
        @exclusivity(unchecked) final var memberships = Memberships()

        /// Where the item was made.
        let place: Place

        /// Where the `ItemTable` of its loop has the item, if it is of a kind that one loop only may have. Guarded by
        /// that loop's lock.
        @exclusivity(unchecked) final var placeInTable: UInt32 = 0

        let itemLock = Lock(.item)
        private enum Life: UInt8, AtomicRepresentable { case valid, withoutHandler, invalid, released }
        /// Written with the item's lock held.
        private let life = Atomic<Life>(.valid)

        /// What the handlers are isolated to.
        enum Isolation: UInt8, AtomicRepresentable {
            case nothing
            /// An actor on the loop, which holds the loop's thread and is not retained by the item.
            case actor
            /// The main actor: only a loop that `takesMainActor` may have the item.
            case mainActor
        }

        /// Written with the item's lock held. Relaxed: a loop that the item joins looks again with the lock.
        private let isolationOfHandler = Atomic<Isolation>(.nothing)
        final var isolation: Isolation {
            @inline(__always) get { isolationOfHandler.load(ordering: .relaxed) }
            set { isolationOfHandler.store(newValue, ordering: .relaxed) }
        }

        /// One byte for both, since it is read whenever an item is added.
        private final let traits: UInt8

        /// Whether `didJoin` and `didLeave` are called.
        final var isNotifiedOfModes: Bool { @inline(__always) get { traits & 1 != 0 } }

        /// Whether this process is a forked child, and the item has an object of the kernel's that is its parent's.
        final var isOfParent: Bool { @inline(__always) get { traits & 2 != 0 && wasMadeByParent } }

        /// Whether a loop was ever asked to take the item, even if it refused. Guarded by the item's lock.
        @exclusivity(unchecked) private final var wasOffered = false

        init(
            _ place: Place = .unknown, _ label: String? = nil, _ rare: Rare? = nil, isNotifiedOfModes: Bool = false,
            belongsToProcess: Bool = false
        ) {
            self.place = place
            traits = (isNotifiedOfModes ? 1 : 0) | (belongsToProcess ? 2 : 0)
            memberships.rare = rare
            if let label { changeRareProperties { $0.label = label } }
        }

        deinit { if !wasOffered, isValid, hasHandler || actsWithoutHandler { reportAsNeverAdded() } }

        /// Whether the program waits for what an item does that has neither a loop nor a handler, such as a child.
        var actsWithoutHandler: Bool { false }

        /// A subclass's `deinit` has run; its properties still exist.
        @inline(never)
        private func reportAsNeverAdded() { Mistakes.shared.report(.neverAdded(item: name)) }

        /// Records that a loop has refused the item, which the loop reports where the program is at fault.
        final func noteRefusal() { itemLock.withLock { wasOffered = true } }

        /// What diagnostics call the item; initially the initializer's `label`. Nil to call it by its kind and the
        /// place where it was made. From any thread.
        public final var label: String? {
            get { itemLock.withLock { memberships.rare?.label } }
            set { withLocks { changeRareProperties { $0.label = newValue } } }
        }

        /// Whether the item can still be added and called: until ``Loop/Item/invalidate()`` is called. CF:
        /// `CFRunLoopSourceIsValid` and the like.
        public final var isValid: Bool {
            @inline(__always) get { life.load(ordering: .acquiring).rawValue < Life.invalid.rawValue }
        }

        /// Whether the item is valid and has a handler.
        final var canBeCalled: Bool {
            @inline(__always) get { life.load(ordering: .acquiring) == .valid }
        }

        /// Whether the item has, or had, a handler.
        final var hasHandler: Bool {
            @inline(__always) get { life.load(ordering: .acquiring) != .withoutHandler }
        }

        /// Removes the item from every mode of every loop, permanently, and releases its handlers with what they
        /// captured. From any thread, even inside the item's own handler. A second call does nothing.
        ///
        /// - A call from another thread does not wait: a handler that runs at that moment, or is about to be called,
        ///   still runs. To know that none does, invalidate the item on the loop's thread, or join the ``LoopThread``.
        /// - The calling thread releases what the handlers captured, before this returns. If a handler runs at that
        ///   moment, the loop's thread does so when it returns.
        /// - If another thread adds the item at the same time, or its loop ends, that thread may release them.
        ///
        /// CF: `CFRunLoopSourceInvalidate` and the like.
        public final func invalidate() {
            itemLock.lock()
            guard becomeInvalidWhileLocked() else { return itemLock.unlock() }
            if let mode = memberships.first, mode.itemsLeaveAlone, isInOneLoop, !isNotifiedOfModes {
                itemLock.unlock()
                if leaveModes(with: mode) {
                    Lock.assertNoneHeld(from: .loop)
                    return releaseHandlers()
                }
                return releaseIfOver()
            }
            _ = leaveLoopsUnlocking()
        }

        /// Returns false if the item is invalid already.
        @inline(__always)
        private func becomeInvalidWhileLocked() -> Bool {
            guard isValid else { return false }
            // Release: a thread that finds the item invalid sees what the caller did before.
            life.store(.invalid, ordering: .releasing)
            return true
        }

        /// As `invalidate()`. Returns the modes that the item has left: all that it has joined before it was invalid.
        @inline(never)
        final func invalidateLeavingModes() -> ModeList {
            itemLock.lock()
            guard becomeInvalidWhileLocked() else {
                itemLock.unlock()
                return ModeList()
            }
            return leaveLoopsUnlocking()
        }

        /// As `invalidate()`, in one step with what `takeOut` does, with the item's lock held. So no other thread finds
        /// the item valid after that. Does nothing, and returns false, if the item is invalid already, or `takeOut`
        /// returns false.
        final func invalidate(takingOut takeOut: () -> Bool) -> Bool {
            itemLock.lock()
            guard isValid, takeOut(), becomeInvalidWhileLocked() else {
                itemLock.unlock()
                return false
            }
            _ = leaveLoopsUnlocking()
            return true
        }

        /// Takes the invalid item, whose lock is held, out of all its modes, which it returns. Releases the handlers if
        /// no other thread still has to notify the item.
        @inline(never)
        private func leaveLoopsUnlocking() -> ModeList {
            let modes = memberships.modes
            itemLock.unlock()
            leaveLoops(of: modes)
            releaseIfOver()
            return modes
        }

        /// The usual case of `invalidate()`: the item's modes are those of one loop, and it is not notified of leaving
        /// them. It needs no reference to the loop, which is weak, and no list of modes: to add and invalidate a timer
        /// takes 1,320 instructions instead of 2,050.
        ///
        /// - Returns: Whether the caller must release the handlers. If not, another thread has removed the item.
        @inline(__always)
        private func leaveModes(with mode: ModeState) -> Bool {
            mode.waker.lock.lock()
            defer { mode.waker.lock.unlock() }
            // Without the item's lock: an invalid item joins no mode, and leaves these under the loop's lock only.
            if memberships.only === mode { return leaveWhileLocked(mode) }
            return memberships.first != nil && leaveModesSlowly()
        }

        /// The last mode first: to remove the first of M modes takes time that grows with M.
        @inline(never)
        private func leaveModesSlowly() -> Bool {
            // Without a retain: a loop keeps its modes while its lock is held.
            while !Unmanaged.passUnretained(memberships.last!)._withUnsafeGuaranteedRef({ leaveWhileLocked($0) }) {}
            return true
        }

        /// Takes the invalid item out of a mode. Returns whether it was the last one, and the item is released.
        @inline(__always)
        private func leaveWhileLocked(_ mode: ModeState) -> Bool {
            mode.takeOut(self)
            itemLock.lock()
            defer { itemLock.unlock() }
            hasLeftWhileLocked(mode)
            _ = memberships.leave(mode, isNotified: false, on: .ended)
            guard memberships.first == nil else { return false }
            // Before the lock is free: a thread that then finds the item in no mode would release it too.
            life.store(.released, ordering: .releasing)
            return true
        }

        /// All loops first: the item is in no mode when its cancel handlers are called.
        private func leaveLoops(of modes: ModeList) {
            if !canBeInManyLoops, let loop = modes.first?.loop {
                for mode in loop.takeOut(self, from: modes) { notifyLeft(mode, of: loop) }
                return
            }
            var loops: [Loop] = []
            for mode in modes {
                if let loop = mode.loop, !loops.contains(where: { $0 === loop }) { loops.append(loop) }
            }
            let left = loops.map { ($0, $0.takeOut(self, from: modes)) }
            for (loop, modes) in left {
                for mode in modes { notifyLeft(mode, of: loop) }
            }
        }

        // MARK: Membership, for the loop. All called with the loop's lock held.

        /// Records that the item joins `mode`. Returns false if it is invalid, already there, in another loop, or for
        /// the main actor, whom the mode's loop does not take.
        @inline(__always)
        final func join(_ mode: ModeState) -> Bool {
            mode.assertLocked()
            itemLock.lock()
            defer { itemLock.unlock() }
            guard isValid, isolation != .mainActor || mode.takesMainActor else { return false }
            if let other = memberships.first {
                guard !memberships.contains(mode), canBeInManyLoops || other.waker === mode.waker else { return false }
            }
            memberships.join(mode, isNotified: isNotified(of: mode), makeRare())
            wasOffered = true
            return true
        }

        /// Records that the item leaves `mode`. Returns whether the caller must call `notifyLeft(_:of:)`.
        final func leave(_ mode: ModeState) -> Bool {
            mode.assertLocked()
            let isNotified = isNotified(of: mode)
            let thread = isNotified ? ThreadLoops.currentID : .ended
            itemLock.lock()
            defer { itemLock.unlock() }
            hasLeftWhileLocked(mode)
            return memberships.leave(mode, isNotified: isNotified, on: thread)
        }

        private func isNotified(of mode: ModeState) -> Bool { isNotifiedOfModes && !mode.mode.namesCommonModes }

        // MARK: Notifying the item. All called without any lock.

        /// Called once for each mode that the item has joined.
        final func notifyJoined(_ mode: ModeState, of loop: Loop) {
            guard isNotifiedOfModes else { return }
            Lock.assertNoneHeld()
            let thread = ThreadLoops.currentID
            guard itemLock.withLock({ memberships.beginNotifying(of: mode, on: thread) }) else { return }
            didJoin(mode.mode, of: loop)
            guard itemLock.withLock({ memberships.endNotifying(of: mode, on: thread) }) else { return releaseIfOver() }
            notifyLeft(mode, of: loop)
        }

        /// Called once for each mode for which `leave` returned true; with nil by a loop that is being deallocated.
        final func notifyLeft(_ mode: ModeState, of loop: Loop?) {
            if isNotifiedOfModes { Lock.assertNoneHeld() }
            if let loop { didLeave(mode.mode, of: loop) }
            itemLock.withLock { memberships.endLeaving(mode) }
            releaseIfOver()
        }

        /// Called by a loop that has ended, after the item has left it and was notified.
        final func notifyEnd(of loop: Loop) {
            loopHasEnded()
            releaseIfOver()
        }

        /// Releases the handlers of an invalid item after it has left its last mode. Called after each leaving, and at
        /// the end of `invalidate()`. The last of these calls finds the item in no mode, and exactly one call releases.
        private func releaseIfOver() {
            guard !isValid else { return }
            itemLock.lock()
            let isOver = life.load(ordering: .relaxed) == .invalid && memberships.areOver
            if isOver { life.store(.released, ordering: .releasing) }
            itemLock.unlock()
            guard isOver else { return }
            // A limiter holds its own lock as it invalidates its timer, which has captured nothing of a caller's.
            Lock.assertNoneHeld(from: .loop)
            releaseHandlers()
        }

        // MARK: The handler

        /// Makes an item that was not given a handler wait for one. Called while the item is made.
        final func waitForHandler() { life.store(.withoutHandler, ordering: .relaxed) }

        /// Replaces the handler. Returns false, and reports it if the program is at fault, if the item cannot have it.
        ///
        /// - Parameters:
        ///   - isolation: That of the new handler; nil to leave it as it is.
        ///   - exchange: Exchanges the stored handler for the new one, with the item's lock held. The caller releases
        ///     the old one without the lock.
        final func replaceHandler(_ isolation: Isolation? = nil, _ exchange: () -> Void) -> Bool {
            Lock.assertNoneHeld()
            itemLock.lock()
            let isElsewhere = isolation == .mainActor && memberships.contains { !$0.takesMainActor }
            guard isValid, !isElsewhere else {
                itemLock.unlock()
                if isElsewhere {
                    Mistakes.shared.report(.refusedItem(item: name, reason: .itemIsForMainActor))
                }
                return false
            }
            exchange()
            if let isolation { self.isolation = isolation }
            let isFirst = !hasHandler
            // Release: a thread that finds the item with a handler sees what the caller did before.
            if isFirst { life.store(.valid, ordering: .releasing) }
            itemLock.unlock()
            if isFirst { hasGotHandler() }
            return true
        }

        // MARK: For the kinds of items to override

        /// Makes an object for the rare properties of an item of this kind.
        func makeRare() -> Rare { Rare() }

        /// Whether several loops may have the item at the same time. Only `Source0` and `PortSource` may be shared.
        var canBeInManyLoops: Bool { false }

        /// Whether this process is a forked child, for an item that belongs to one process.
        var wasMadeByParent: Bool { false }

        /// What diagnostics call items of this kind.
        var kind: String { "item" }

        /// Whether the handler is to be called. Called without any lock, for an item with a handler: see
        /// `currentStatus`.
        var status: ItemStatus { .waits("") }

        /// The item, which was made without a handler, has got one. Its kind now serves what waited in each mode that
        /// the item is in. A mode that it joins from now on finds it with a handler. Called without any lock.
        func hasGotHandler() {}

        /// Wakes a loop that the item has joined, if the item is ready. Not called for a mode that catches up: no loop
        /// sleeps in one. The loop's lock is held.
        func wakeIfReady(_ waker: Waker) {}

        /// Inserts the item into a mode that it has joined. The loop's lock is held. An item overrides one of these.
        func insert(into mode: ModeState, of loop: Loop) { insert(into: mode) }
        func insert(into mode: ModeState) {}

        /// Removes the item from a mode that it is about to leave. The loop's lock is held.
        func remove(from mode: ModeState) {}

        /// The item leaves a mode. The loop's lock and the item's lock are held.
        func hasLeftWhileLocked(_ mode: ModeState) {}

        /// The slot of a version-1 source in the first of the `Source1Table`s that it is in; -1 if it is in none, or
        /// does not remember. Guarded by the lock of the loop, which must be the only one that may have the source.
        var sourceSlot: Int {
            get { -1 }
            set {}
        }

        /// Lists a message port that is ready as an arrival of a mode that it is in. Returns whether it did.
        @discardableResult
        func announceMessages(in mode: ModeState) -> Bool { false }

        /// The item has joined, or left, a mode of `loop`. Called without any lock.
        func didJoin(_ mode: Mode, of loop: Loop) {}
        func didLeave(_ mode: Mode, of loop: Loop) {}

        /// A loop that the item was in has ended. Called without any lock.
        func loopHasEnded() {}

        /// Reports what the loop's end has left undone. Called after the end handlers, which may have seen to it.
        func reportLeftWork() {}

        /// The item is invalid, in no mode, and was notified. Called once, without any lock, since the deinit of what
        /// handlers captured may call back.
        func releaseHandlers() {}

        /// Takes out values with the item's lock held, and releases them without it: see `releaseHandlers()`.
        final func releaseUnlocked<Captured>(_ takeOut: () -> Captured) {
            let released = itemLock.withLock(takeOut)
            withExtendedLifetime(released) {}
        }
    }
}
