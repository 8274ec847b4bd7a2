/// A block that a pool has handed to a worker, and a piece of the pool's work. One object for both, so that handing
/// over a block allocates nothing else.
///
/// The piece is finished once: when the block has run, when it is dropped, or when the worker's thread exits in it.
final class PooledBlock: AnsweredWork, @unchecked Sendable {
    private let workload: Workload
    private let piece: Workload.Piece
    /// Nil when the piece is finished. Accessed by the worker's thread, and by the `deinit`.
    @exclusivity(unchecked) private var block: (@Sendable () -> Void)?

    init(_ block: @escaping @Sendable () -> Void, _ piece: Workload.Piece, of workload: Workload) {
        (self.block, self.piece, self.workload) = (block, piece, workload)
    }

    /// Called once, on the worker's thread.
    func run() {
        ThreadLoops.current.run(self) { block!() }
        finish()
    }

    func threadHasExited() { finish() }

    /// Its loop has refused it: the caller runs the block itself, and finishes the piece.
    func takeBack() { block = nil }

    /// Releases what the block has captured first: who waits for the piece may use it.
    private func finish() {
        block = nil
        workload.finish(piece)
    }

    deinit { if block != nil { finish() } }
}
