/// The order of an atomic access, as C++ and `Synchronization` have them.
package enum Order: String, Hashable, Sendable, CaseIterable {
    case relaxed
    case acquiring
    case releasing
    case acquiringAndReleasing
    case sequentiallyConsistent

    var acquires: Bool { self != .relaxed && self != .releasing }
    var releases: Bool { self != .relaxed && self != .acquiring }
    var isSequential: Bool { self == .sequentiallyConsistent }

    /// What an access does, which decides the orders that it can have.
    package enum Access: Hashable, Sendable { case load, store, modification }

    /// The orders that permit more than this one, the strongest first.
    package func weaker(for access: Access) -> [Order] {
        let all: [Order] =
            switch access {
            case .load: [.sequentiallyConsistent, .acquiring, .relaxed]
            case .store: [.sequentiallyConsistent, .releasing, .relaxed]
            case .modification:
                [.sequentiallyConsistent, .acquiringAndReleasing, .acquiring, .releasing, .relaxed]
            }
        return all.filter {
            $0 != self && !($0.acquires && !acquires) && !($0.releases && !releases) && !$0.isSequential
        }
    }
}
