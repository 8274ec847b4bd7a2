import LoopTestSupport

@testable import RunLoopKit

/// An object that a handler captures, and that counts its release.
final class Captured: Sendable {
    let released: Count
    init(_ released: Count) { self.released = released }
    deinit {
        Lock.assertNoneHeld()
        released.up()
    }

    /// A handler that captures an object.
    static func holding(_ captured: Captured) -> @Sendable () -> Void { { withExtendedLifetime(captured) {} } }
}
