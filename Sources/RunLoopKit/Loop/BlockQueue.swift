import Synchronization

/// The modes that a posted block may run in.
enum ModeFilter: Sendable {
    case one(Loop.Mode)
    case any(Set<Loop.Mode>)

    /// Whether a block with this filter runs in `mode`, given the loop's current common modes.
    func admits(_ mode: Loop.Mode, common: [Loop.Mode]) -> Bool {
        switch self {
        case .one(let own): own == mode || (own == .common && common.contains(mode))
        case .any(let set): set.contains(mode) || (set.contains(.common) && common.contains(mode))
        }
    }

    var modes: [Loop.Mode] {
        switch self {
        case .one(let mode): [mode]
        case .any(let set): set.sorted { $0.name < $1.name }
        }
    }
}

/// The blocks posted to a loop, in the order in which they were posted. Guarded by the loop's lock.
struct BlockQueue {
    struct Block {
        let modes: ModeFilter
        let handle: Loop.PendingBlock?
        let body: @Sendable () -> Void
    }

    private(set) var blocks: [Block?] = []

    /// The storage of an earlier drain, kept so that posting and draining do not allocate each time.
    private var spare: [Block?] = []

    var isEmpty: Bool { blocks.isEmpty }

    mutating func append(_ block: Block) { blocks.append(block) }

    /// Whether a block is in the list that may run in `mode`.
    func hasBlock(for mode: Loop.Mode, common: [Loop.Mode]) -> Bool {
        blocks.contains { $0?.modes.admits(mode, common: common) ?? false }
    }

    /// Takes the whole list out. Blocks posted later wait for the next drain.
    mutating func takeAll() -> [Block?] {
        let taken = blocks
        blocks = spare
        spare = []
        return taken
    }

    /// Puts the blocks of a drained list that have not run (those that have are nil) back, before those posted
    /// meanwhile. Returns those that were withdrawn, for the caller to release without the lock.
    mutating func giveBack(_ drained: inout [Block?]) -> [Block] {
        let withdrawn = drained.compactMap { $0 }.filter { $0.handle?.isWithdrawn ?? false }
        drained.removeAll { $0.map { $0.handle?.isWithdrawn ?? false } ?? true }
        if drained.isEmpty {
            swap(&spare, &drained)
        } else {
            blocks.insert(contentsOf: drained, at: 0)
        }
        return withdrawn
    }

    /// Removes the block with `handle` and returns it; nil if it is not in the list.
    mutating func remove(_ handle: Loop.PendingBlock) -> Block? {
        guard let index = blocks.firstIndex(where: { $0?.handle === handle }) else { return nil }
        return blocks.remove(at: index) ?? nil
    }
}

extension Loop {
    /// A posted block that can be withdrawn. Made by ``Loop/performCancellable(in:wake:label:file:line:_:)``.
    ///
    /// Releasing this object changes nothing: the block still runs.
    public final class PendingBlock: Sendable {
        private enum State: UInt8, AtomicRepresentable { case waiting, taken, withdrawn }

        private let state = Atomic<State>(.waiting)
        private weak let loop: Loop?

        /// Where the block was posted.
        let place: Place
        /// The number of the handover; 0 if no monitor is notified of it.
        let number: UInt64

        init(loop: Loop, _ place: Place) {
            self.loop = loop
            self.place = place
            number = Monitors.seeHandovers ? Turn.next() : 0
        }

        /// Withdraws the block. Returns true if it has not begun to run and never will; false if it has begun, was
        /// withdrawn before, or was dropped with its loop. From any thread.
        @discardableResult
        public func withdraw() -> Bool {
            guard change(to: .withdrawn) else { return false }
            loop?.discard(self)
            return true
        }

        var isWithdrawn: Bool { state.load(ordering: .relaxed) == .withdrawn }

        /// Claims the block for running; false if it was withdrawn.
        func take() -> Bool { change(to: .taken) }

        /// Relaxed: the exchange decides between two threads and publishes nothing.
        private func change(to new: State) -> Bool {
            state.compareExchange(expected: .waiting, desired: new, ordering: .relaxed).exchanged
        }
    }
}
