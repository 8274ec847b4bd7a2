import Synchronization

extension Loop {
    /// A posted block that can be withdrawn. Made by ``Loop/performCancellable(in:wake:label:file:line:_:)``.
    ///
    /// Releasing this object changes nothing: the block still runs.
    public final class PendingBlock: @unchecked Sendable {
        private enum State: UInt8, AtomicRepresentable { case waiting, taken, withdrawn }

        private let state = Atomic<State>(.waiting)
        @LightWeak private var loop: Loop?
        /// Whether this only tells monitors where a block comes from. No caller gets it to withdraw the block.
        let isNote: Bool

        /// The block's number and modes; nil for a note. Guarded by the loop's lock.
        @exclusivity(unchecked) var posting: (number: UInt64, modes: ModeFilter)?

        /// Where the block was posted.
        let place: Place
        /// The number of the handover; 0 if no monitor is notified of it.
        let number: UInt64

        init(loop: Loop, _ place: Place) {
            isNote = false
            self.loop = loop
            self.place = place
            number = loop.numberOfHandover
        }

        /// Makes a note. See `isNote`.
        init(_ place: Place, number: UInt64) {
            isNote = true
            loop = nil
            self.place = place
            self.number = number
        }

        /// Withdraws the block. Returns true if it has not begun to run and never will; false if it has begun, was
        /// withdrawn before, or was dropped with its loop. From any thread.
        @discardableResult
        public func withdraw() -> Bool {
            guard change(to: .withdrawn) else { return false }
            loop?.discard(self)
            return true
        }

        /// Claims the block for running; false if it was withdrawn.
        func take() -> Bool { change(to: .taken) }

        /// Relaxed: the exchange decides between two threads and publishes nothing.
        private func change(to new: State) -> Bool {
            state.compareExchange(expected: .waiting, desired: new, ordering: .relaxed).exchanged
        }
    }
}
