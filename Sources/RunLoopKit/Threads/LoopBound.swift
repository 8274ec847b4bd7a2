/// A box for state that lives on one loop's thread: any thread may pass it around, but only that thread may touch its
/// value.
///
/// Handlers are `@Sendable`, since they may run on another thread than the one that makes them. Put state that they
/// change into a box: an access on another thread traps with a message instead of being a race.
///
/// ```swift
/// let ticks = LoopBound(0, on: .current)
/// Loop.current.add(Loop.Timer(every: .seconds(1)) { _ in ticks.value += 1 }, in: .default)
/// ```
///
/// After the loop's thread has ended, no access is possible, not even on the thread of last resort
/// (<doc:SwiftConcurrency#The-end>). Fetch a result before, by ``LoopThread/performAndWait(in:for:label:file:line:_:)``
/// or in a handler of ``Loop/onEnd(_:)``.
///
/// The loop's thread releases the value:
///
/// - *When the last reference to the box is released,* whichever thread does that: on another thread than the loop's by
///   a block in the common modes.
/// - *When the loop ends,* after the handlers of ``Loop/onEnd(_:)``, even if the box lives on.
///   ``LoopThread/waitForEnd()`` returns after that. Values that were boxed last are released first. To use another
///   box, do so in a handler of the end, not in a `deinit`.
///
/// Any thread may release the value if it is boxed once the loop has ended; if a loop in virtual time is released
/// without ``Loop/end()``; in a forked child; and for a ``Loop/main`` whose thread was given away.
public final class LoopBound<Value>: @unchecked Sendable {
    private let storage: Storage

    // Weak, so that a box in a handler of the loop does not keep the loop alive. Nil once the loop is deallocated: no
    // thread is the loop's then.
    @LightWeak private var loop: Loop?

    /// Boxes `value` for the thread of `loop`. On any thread, which must not use what `value` refers to afterwards.
    public init(_ value: sending Value, on loop: Loop) {
        storage = Storage(value)
        self.loop = loop
        if !_isPOD(Value.self) { loop.list(storage) }
    }

    deinit {
        if !_isPOD(Value.self), let loop { loop.releaseOnItsThread(storage) }
    }

    /// The value. A collection in it is changed in place, and not copied.
    ///
    /// - Precondition: Read and written on the loop's own thread; traps elsewhere with a message.
    public var value: Value {
        get {
            requireOwnThread()
            return storage.value!
        }
        _modify {
            requireOwnThread()
            yield &storage.value!
        }
    }

    private func requireOwnThread() {
        if loop?.isOnOwnThread == true, storage.hasValue { return }
        fatalError(
            "RunLoopKit: a LoopBound<\(Value.self)> was touched "
                + (loop.map { !$0.hasEnded } ?? false
                    ? "on a thread other than its loop's. Hand the work over with Loop.perform(in:_:)."
                    : "after the end of its loop. Cancel and await the loop's tasks before its thread stops."))
    }

    /// Thread-confined: the loop's thread alone accesses the value, until the box is gone.
    private final class Storage: BoundValue, @unchecked Sendable {
        var value: Value?

        init(_ value: sending Value) { self.value = value }

        /// Not after the end of the loop.
        var hasValue: Bool { if case .some = value { true } else { false } }

        override func clear() { value = nil }
    }
}
