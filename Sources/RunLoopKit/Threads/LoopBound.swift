/// A box for state that lives on one loop's thread: it can be passed around freely, and touched only there.
///
/// Handlers are `@Sendable`, since they are made on one thread and may run on another. What they count or collect goes
/// into a box: the compiler is content, and touching it on a wrong thread traps with a message instead of being a race.
///
/// ```swift
/// let ticks = LoopBound(0, on: .current)
/// Loop.current.add(Loop.Timer(every: .seconds(1)) { _ in ticks.value += 1 }, in: .default)
/// ```
///
/// Once the loop's thread has ended nobody is on it any more: fetch a result before, with `LoopThread.performAndWait`.
/// The value is released wherever the last reference to the box goes.
public final class LoopBound<Value>: @unchecked Sendable {
    private var storage: Value

    // Weak, so that a box in a handler of the loop does not keep the loop alive. Nil after the loop is gone: nobody can
    // be on its thread's loop then.
    private weak let loop: Loop?

    /// Boxes `value` for the thread of `loop`. May be called on any thread, which must not use what `value` refers to
    /// afterwards.
    public init(_ value: sending Value, on loop: Loop) {
        self.storage = value
        self.loop = loop
    }

    /// The value.
    ///
    /// - Precondition: Read and written on the loop's own thread; traps elsewhere, and says so.
    public var value: Value {
        get {
            requireOwnThread()
            return storage
        }
        _modify {
            requireOwnThread()
            yield &storage
        }
    }

    private func requireOwnThread() {
        guard loop?.isOnOwnThread != true else { return }
        fatalError(
            "RunLoopKit: a LoopBound<\(Value.self)> was touched on a thread other than its loop's (or the loop is gone). Hand the "
                + "work over with Loop.perform(in:_:).")
    }
}
