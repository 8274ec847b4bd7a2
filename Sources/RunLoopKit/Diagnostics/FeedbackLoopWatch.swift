import Synchronization

extension FeedbackLoopDetector {
    /// The counting of a limited method or of a closure. It ends with ``cancel()``, or when the detector is detached.
    public final class Watch: Sendable {
        private let active = Atomic<Bool>(true)
        private weak let detector: FeedbackLoopDetector?
        private let remove: @Sendable (Watch) -> Void

        init(of detector: FeedbackLoopDetector, remove: @escaping @Sendable (Watch) -> Void) {
            self.detector = detector
            self.remove = remove
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
