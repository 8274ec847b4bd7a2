/// An object of the library that its loop tells of the end, in turn with the end handlers: a limiter.
///
/// A loop may have very many, so each takes a few bytes of a table. An end handler with its closure takes 150.
@usableFromInline
package class EndListener: @unchecked Sendable {
    // Guarded by the lock of the loop that it is registered with.

    /// Orders the listeners, and the end handlers, by registration.
    @exclusivity(unchecked) fileprivate(set) final var turn: UInt64 = 0
    @exclusivity(unchecked) fileprivate final var place = EndListeners.nowhere

    /// The loop ends. Called once, on its thread, without any lock.
    func loopEnds() {}

    /// Reports what is lost, since the loop's `LoopThread` is dropped. Called on any thread, before the loop closes.
    func threadIsDropped() {}
}

/// The listeners of a loop, in the order of their registration. Guarded by its lock.
struct EndListeners {
    fileprivate static let nowhere = UInt32.max

    /// Nil is a gap, which a listener has left.
    private var slots: [EndListener?] = []
    private var gaps = 0

    var all: [EndListener] { slots.compactMap { $0 } }

    fileprivate mutating func insert(_ listener: EndListener, turn: UInt64) {
        listener.turn = turn
        listener.place = UInt32(slots.count)
        slots.append(listener)
    }

    /// - Precondition: The caller has a reference to the listener.
    fileprivate mutating func remove(_ listener: EndListener) {
        guard listener.place != EndListeners.nowhere else { return }
        slots[Int(listener.place)] = nil
        listener.place = EndListeners.nowhere
        gaps += 1
        while let last = slots.last, last == nil {
            slots.removeLast()
            gaps -= 1
        }
        if slots.isSparse || slots.count > 32 && gaps > slots.count / 2 { closeGaps() }
    }

    private mutating func closeGaps() {
        slots = all
        gaps = 0
        for (place, listener) in slots.enumerated() { listener!.place = UInt32(place) }
    }

    /// Takes out all.
    mutating func takeAll() -> [EndListener] {
        let taken = all
        for listener in taken { listener.place = EndListeners.nowhere }
        self = EndListeners()
        return taken
    }
}

extension Loop {
    /// Returns false if the loop has ended, or its ``LoopThread`` was stopped: the listener is then never called. The
    /// caller may hold a lock, and reports that: `complainIfMainIsGone()`.
    func addEndListener(_ listener: EndListener) -> Bool {
        guard isOfThisProcess else { return false }
        return lock.withLock {
            if isOpen { endListeners.insert(listener, turn: waker.turns.next()) }
            return isOpen
        }
    }

    /// Does nothing if the listener was removed, or taken out by the end, before.
    func removeEndListener(_ listener: EndListener) { lock.withLock { endListeners.remove(listener) } }

    /// The listeners in the order in which they were registered.
    var allEndListeners: [EndListener] { lock.withLock { endListeners.all } }
}
