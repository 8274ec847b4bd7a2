import Foundation
import TestSupport

/// Ends a wait of a test that would not end by itself: Swift Testing's time limits do not end a thread that is blocked
/// in a system call. It is for hangs and does not measure speed.
final class Deadline: @unchecked Sendable {
    /// In seconds: far longer than any of these programs takes on a loaded machine, and less than the test may take, so
    /// that the program's output is told.
    static let limit = (TimeBound().limit ?? 3600) * 3 / 4

    private let lock = NSLock()
    private var isOpen = true
    private var hasPassed = false

    /// - Parameter expire: Called on another thread if the deadline passes before it is met.
    init(expire: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Deadline.limit)) { [weak self] in
            self?.pass(expire)
        }
    }

    private func pass(_ expire: () -> Void) {
        lock.withLock {
            guard isOpen else { return }
            hasPassed = true
            expire()
        }
    }

    /// Meets the deadline: `expire` is not called after that. Returns false if the deadline had passed before.
    func isMet() -> Bool {
        lock.withLock {
            isOpen = false
            return !hasPassed
        }
    }
}
