import Foundation

/// Ends what a test waits for when it does not end by itself: a thread that is blocked in a system call is not ended by
/// Swift Testing's time limits. It says nothing about speed; it is there for what hangs.
final class Deadline: @unchecked Sendable {
    /// In seconds: far longer than any of these programs takes on a loaded machine.
    static let limit = 120

    private let lock = NSLock()
    private var isOpen = true
    private var hasPassed = false

    /// - Parameter expire: Called on another thread when it has passed without being met.
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

    /// Closes it. What expires is not touched after that. False when it had passed before.
    func isMet() -> Bool {
        lock.withLock {
            isOpen = false
            return !hasPassed
        }
    }
}
