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
        ThreadLoops.current.run(self) { takePieces() }
    }

    private func takePieces() {
        let loop = workload.loops[worker]
        // They would interrupt the shift for nothing.
        let hidden = loop.waitingBlocks == 0 ? 0 : loop.blocksThatInnermostRunCannotPerform
        var count = 0
        while takePiece(&count, loop, hidden) {}
    }

    /// Returns false if it leaves the queue. Never inlined: what a piece has captured is released when this returns,
    /// before the piece is finished.
    @inline(never)
    private func takePiece(_ count: inout Int, _ loop: Loop, _ hidden: Int) -> Bool {
        let step = workload.next(for: worker, finished: current, count: count, blocks: loop.waitingBlocks - hidden)
        current = 0
        step.answerDrains()
        guard let piece = step.piece else {
            if step.callsItself { workload.post(.one(worker)) }
            return false
        }
        if loop.isMonitored.load(ordering: .relaxed), !step.isStopped, runsAlone(piece, loop) {
            // It waits on the loop: another piece would wait behind it.
            count = Workload.piecesPerShift
            return true
        }
        if piece.ticket == nil { current = piece.number }
        loop.callOut(Callout(.block, place: piece.place)) { loopIsCallingOutToABlock(piece.body) }
        count += 1
        return true
    }

    /// Makes a piece a block of its own, so that monitors see it, with its place. Returns false if the loop is stopped,
    /// and so takes none.
    private func runsAlone(_ piece: Workload.WaitingPiece, _ loop: Loop) -> Bool {
        if piece.ticket != nil { return loop.performAwaited(in: .common, piece.place, piece.body) != nil }
        let work = PooledBlock(piece.body, workload.piece(piece, of: worker), of: workload)
        if loop.perform(in: .common, piece.place, { work.run() }) { return true }
        work.takeBack()
        return false
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
        // In tests without threads.
        guard !loops.isEmpty else { return }
        let shift = PoolShift(self, worker)
        // If the loop refuses it, the deinit says so.
        _ = loops[worker].perform(in: .common, Place("LoopThreadPool", 0)) { shift.run() }
    }

    /// From now on the workers' loops tell of runs that begin inside their blocks.
    func observeNestedRuns() {
        for (worker, loop) in loops.enumerated() {
            loop.lock.withLock {
                loop.nestedRunObserver = { [weak self] in
                    if let self { post(noteNestedRun(of: worker)) }
                }
            }
        }
    }
}
