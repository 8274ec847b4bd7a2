import RunLoopKit
import Synchronization

/// The body of a limited method, and the functions that watch it.
///
/// A watching function is called instead of the body, on the body's thread, and calls it. It sees the calls that run: a
/// call that a rule holds back is seen when it runs, and one that a rule ignores is not seen. Without any, a call costs
/// an atomic load more than calling the body.
@usableFromInline
package final class MethodBody<Target: Sendable, Input: Sendable>: @unchecked Sendable {
    package typealias Watch = @Sendable (_ target: Target, _ run: () -> Void) -> Void

    @usableFromInline let body: @Sendable (Target, Input) -> Void

    /// Whether any function watches. Written with the lock held. Relaxed: it guards nothing, since a call reads the
    /// list with the lock held.
    @usableFromInline let isWatched = Atomic<Bool>(false)

    private let lock = Lock(.leaf)
    /// Guarded by `lock`.
    private var watches: [(owner: ObjectIdentifier, watch: Watch)] = []

    init(_ body: @escaping @Sendable (Target, Input) -> Void) { self.body = body }

    @inlinable
    func callAsFunction(_ target: Target, _ input: Input) {
        if isWatched.load(ordering: .relaxed) { callWatched(target, input) } else { body(target, input) }
    }

    @usableFromInline
    func callWatched(_ target: Target, _ input: Input) {
        let watches = lock.withLock { self.watches }
        call(target, input, through: watches[...])
    }

    private func call(
        _ target: Target, _ input: Input, through watches: ArraySlice<(owner: ObjectIdentifier, watch: Watch)>
    ) {
        guard let outermost = watches.last else { return body(target, input) }
        outermost.watch(target) { call(target, input, through: watches.dropLast()) }
    }

    // MARK: Watching

    /// Adds a function, around those that watch already. Calls that run already are not affected.
    package func add(_ watch: @escaping Watch, of owner: AnyObject) {
        lock.withLock {
            watches.append((ObjectIdentifier(owner), watch))
            isWatched.store(true, ordering: .relaxed)
        }
    }

    /// Removes the functions of an owner.
    package func removeWatches(of owner: AnyObject) {
        let id = ObjectIdentifier(owner)
        let old = lock.withLock { () -> [(owner: ObjectIdentifier, watch: Watch)] in
            defer {
                watches.removeAll { $0.owner == id }
                isWatched.store(!watches.isEmpty, ordering: .relaxed)
            }
            return watches
        }
        withExtendedLifetime(old) {}  // A captured object's deinit may call back: released without the lock.
    }
}
