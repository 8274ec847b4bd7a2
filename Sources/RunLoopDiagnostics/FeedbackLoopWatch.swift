import RunLoopKit
import Synchronization

extension FeedbackLoopDetector {
    /// What a watch counts the calls of: a method, by the identity of its body, or a property of an object. Another
    /// object may have the identity of a deallocated one: see `Watch.isOfDeallocated`.
    struct Watched: Equatable, @unchecked Sendable {  // Key paths do not change.
        let id: ObjectIdentifier
        private let path: AnyKeyPath?

        init(_ object: AnyObject, _ path: AnyKeyPath? = nil) { (self.id, self.path) = (ObjectIdentifier(object), path) }
    }

    /// The counting of a limited method or of a closure. It ends with ``cancel()``, or when the detector is detached,
    /// which forgets it when the object that has the closure is deallocated.
    public final class Watch: Sendable {
        private let active = Atomic<Bool>(true)
        private weak let detector: FeedbackLoopDetector?
        let watched: Watched
        /// The object that has the property. Nil for a method, whose body the watch keeps.
        private nonisolated(unsafe) weak let object: AnyObject?  // Only compared with nil.
        private let isOfProperty: Bool
        /// How often the closure of a property was replaced by one that counts: only the last one counts.
        private let replacements = Atomic<Int>(0)
        private let remove: @Sendable (Watch) -> Void

        /// Watches a method.
        init(
            of watched: Watched, by detector: FeedbackLoopDetector, remove: @escaping @Sendable (Watch) -> Void
        ) {
            self.watched = watched
            self.detector = detector
            self.remove = remove
            (object, isOfProperty) = (nil, false)
        }

        /// Watches a property of an object.
        init(_ path: AnyKeyPath, of object: AnyObject, by detector: FeedbackLoopDetector) {
            watched = Watched(object, path)
            self.detector = detector
            (self.object, isOfProperty) = (object, true)
            remove = { _ in }
        }

        /// Whether the object that has the property is deallocated, so that another one may have its identity. Called
        /// without a lock: the reference that this takes for a moment may become the last one.
        var isOfDeallocated: Bool { isOfProperty && object == nil }

        /// Called when the closure is replaced. Returns the number of the replacement.
        func replace() -> Int { replacements.add(1, ordering: .relaxed).newValue }

        /// Whether calls of a replaced closure are counted.
        func counts(replacement: Int) -> Bool {
            isActive && replacements.load(ordering: .relaxed) == replacement
        }

        /// Whether calls are counted, if the detector is on. From any thread.
        public var isActive: Bool { active.load(ordering: .relaxed) }

        /// Ends the counting. From any thread. A call that has begun is not affected.
        public func cancel() {
            // Relaxed: it guards nothing.
            guard active.exchange(false, ordering: .relaxed) else { return }
            detector?.forget(self)
            remove(self)
        }
    }
}
