internal import CLinux

/// A weak reference that makes no other reference dearer.
///
/// The first `weak` reference to an object moves its counts to a table beside it, and from then on a retain with its
/// release takes 50 ns instead of 18: programs felt that at each `thread.loop`, and a post through it took twice the
/// time. This one keeps the object's memory, but not the object, by an `unowned` reference, and asks Swift's runtime to
/// retain the object unless its deinit has begun.
@propertyWrapper
package struct LightWeak<Object: AnyObject>: @unchecked Sendable {
    private unowned var memory: Object?
    private var address: UnsafeMutableRawPointer?

    package init(wrappedValue: Object?) {
        memory = wrappedValue
        address = wrappedValue.map { Unmanaged.passUnretained($0).toOpaque() }
    }

    package var wrappedValue: Object? {
        @inline(__always)
        get {
            guard let address, let retained = swift_tryRetain(address) else { return nil }
            return Unmanaged<Object>.fromOpaque(retained).takeRetainedValue()
        }
        set { self = Self(wrappedValue: newValue) }
    }

    /// Whether this refers to an object of the caller's. Retains no other object: with a lock held, that could be the
    /// last reference to it.
    package func refers(to object: Object) -> Bool { address == Unmanaged.passUnretained(object).toOpaque() }
}
