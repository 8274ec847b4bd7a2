/// A call of a worker: a block on its loop in which it takes pieces of work from the pool's queue, one after the other.
///
/// It is lost if it never begins, or if the worker's thread exits in it. Then other workers are called.
final class PoolShift: AnsweredWork, @unchecked Sendable {
    private let workload: Workload
    private let worker: Int

    // Accessed by the worker's thread, and by the `deinit`.
    @exclusivity(unchecked) private var hasBegun = false
    /// The number of the piece that runs; 0 if there is none, or if its reply finishes it.
    @exclusivity(unchecked) private var current: UInt64 = 0

    fileprivate init(_ workload: Workload, _ worker: Int) { (self.workload, self.worker) = (workload, worker) }

    deinit { if !hasBegun { workload.post(workload.noteLostCall(of: worker)) } }

    fileprivate func run() {
        hasBegun = true
        workload.beginShift(of: worker)
        ThreadLoops.current.run(self) { takePieces() }
    }

    private func takePieces() {
        let loop = workload.loops[worker]
        var count = 0
        while takePiece(count, loop) { count += 1 }
    }

    /// Returns false if it leaves the queue. Never inlined: what a piece has captured is released when this returns,
    /// before the piece is finished.
    @inline(never)
    private func takePiece(_ count: Int, _ loop: Loop) -> Bool {
        let step = workload.next(for: worker, finished: current, count: count, blocks: loop.waitingBlocks)
        current = 0
        step.answerDrains()
        guard let piece = step.piece else {
            if step.callsItself { workload.post(.one(worker)) }
            return false
        }
        Lock.assertNoneHeld()
        if loop.isMonitored.load(ordering: .relaxed) {
            runAlone(piece, loop)
        } else {
            if piece.ticket == nil { current = piece.number }
            loopIsCallingOutToABlock(piece.body)
        }
        return true
    }

    /// Makes a piece a block of its own, so that monitors see it, with its place. A loop that is stopped takes none.
    private func runAlone(_ piece: Workload.WaitingPiece, _ loop: Loop) {
        if piece.ticket != nil {
            if !loop.performAwaited(in: .common, piece.place, piece.body) { piece.body() }
            return
        }
        let work = PooledBlock(piece.body, workload.piece(piece, of: worker), of: workload)
        if !loop.perform(in: .common, piece.place, { work.run() }) { work.run() }
    }

    func threadHasExited() { workload.post(workload.noteLostShift(of: worker, in: current)) }
}

extension Workload {
    /// Calls workers.
    @inline(__always)
    func post(_ calls: Calls) {
        switch calls {
        case .nobody: return
        case .one(let worker): postCall(of: worker)
        case .several(let workers): for worker in workers { postCall(of: worker) }
        }
    }

    @inline(never)
    private func postCall(of worker: Int) {
        let shift = PoolShift(self, worker)
        // If the loop refuses it, the deinit says so.
        _ = loops[worker].perform(in: .common, Place("LoopThreadPool", 0)) { shift.run() }
    }

    /// Called by a worker before it runs a piece that belongs to it.
    func willRun(_ piece: Piece) { post(noteBegin(of: piece)) }
}
