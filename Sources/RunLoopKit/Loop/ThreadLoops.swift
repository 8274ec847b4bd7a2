/// What a thread keeps: its identity, its loop, and which loop runs on it. The loop ends when the thread does.
final class ThreadLoops {
    let id: ThreadID
    private var ownLoop: Loop?

    /// The loop of the innermost run on this thread: its own, or one in virtual time.
    private var runningLoop: Loop?

    /// The ended loop whose jobs run on this thread: the thread of last resort. Touched by the thread itself only.
    var standsInFor: Loop?

    /// The loops in virtual time that are in a run on this thread or hosted there, innermost last. A hosted one may go
    /// meanwhile.
    private var virtualRuns: [(id: ObjectIdentifier, clock: VirtualClock, loop: () -> Loop?)] = []

    /// The work that runs on this thread and has callers who wait for its answer, innermost last. Touched by the thread
    /// itself only.
    ///
    /// A thread that exits inside such work (`pthread_exit`) leaves its frames without running a `defer` or a `deinit`:
    /// what only they know is forgotten. What is noted here, the thread's end finds.
    private var workUnderWay: [any AnsweredWork] = []

    private init(_ id: ThreadID) { self.id = id }

    /// Runs work, with a note of it for the time in which it runs.
    func run<Result>(_ work: any AnsweredWork, _ body: () -> Result) -> Result {
        workUnderWay.append(work)
        let result = body()
        workUnderWay.removeLast()
        return result
    }

    /// The calling thread's.
    static var current: ThreadLoops {
        if let known = System.value(of: key) { return Unmanaged.fromOpaque(known).takeUnretainedValue() }
        // The destructors of other thread-specific values may ask for Loop.current, in several rounds, when the
        // thread's loop has ended: they get one that has ended, and nothing is left behind after the last round.
        if System.isThreadMarked { return ThreadLoops(.ended) }
        let made = ThreadLoops(ThreadID.make())
        System.set(Unmanaged.passRetained(made).toOpaque(), for: key)
        return made
    }

    var loop: Loop { runningLoop ?? loopOfItsOwn }

    /// Makes `loop` the thread's current loop while `body` is called.
    func running<Result>(_ loop: Loop, _ body: () -> Result) -> Result {
        let outer = runningLoop
        runningLoop = loop
        defer { runningLoop = outer }
        return body()
    }

    /// The thread's own loop, whichever runs now. Made when it is first asked for.
    var loopOfItsOwn: Loop {
        if let ownLoop { return ownLoop }
        let made = makeLoop()
        ownLoop = made
        return made
    }

    private func makeLoop() -> Loop {
        // In a forked child the main loop may be the parent's.
        if id == .initial, Loop.main.process.isCurrent { return Loop.main }
        let loop = Loop(clock: .monotonic, owner: id)
        if id == .ended { loop.end(tellingSources: false) }
        return loop
    }

    /// Gives the thread a loop made for it.
    func adopt(_ loop: Loop) { ownLoop = loop }

    // MARK: Virtual time

    /// Remembers a run that counts for a clock, in case that the thread exits inside it.
    func willRun(_ loop: Loop, in clock: VirtualClock) {
        virtualRuns.append((ObjectIdentifier(loop), clock, { [weak loop] in loop }))
    }

    func hasRun(_ loop: Loop) {
        let id = ObjectIdentifier(loop)
        if let index = virtualRuns.lastIndex(where: { $0.id == id }) { virtualRuns.remove(at: index) }
    }

    // MARK: The end of a thread

    private static let key: CThreadKey = {
        // The calling thread of a forked child is another one than its parent's, whose loops it must not end.
        System.afterForkInChild { System.set(nil, for: ThreadLoops.key) }
        return System.makeThreadKey { pointer in
            guard let pointer else { return }
            // Cancel handlers that run now ask for Loop.current and find the ending loop, not a new one.
            System.set(pointer, for: ThreadLoops.key)
            let loops = Unmanaged<ThreadLoops>.fromOpaque(pointer).takeRetainedValue()
            loops.end()
            System.set(nil, for: ThreadLoops.key)
            System.isThreadMarked = true
        }
    }()

    private func end() {
        // Before the loop's end, whose handlers may take their time.
        for work in workUnderWay.reversed() { work.threadHasExited() }
        workUnderWay = []
        // A thread that exits inside a run never comes to the run's end, nor to those of the runs that it is nested in.
        for run in virtualRuns.reversed() { run.loop()?.end(tellingSources: true) }
        // The initial thread ends before its process when it has been given away.
        (id == .initial && Loop.main.process.isCurrent ? Loop.main : ownLoop)?.end(tellingSources: true)
        for run in virtualRuns { run.clock.endRun(on: id) }
        (runningLoop, standsInFor) = (nil, nil)
    }
}

/// Work whose caller waits for an answer.
protocol AnsweredWork: AnyObject {
    /// The thread has exited inside the work, which will not return: the waiting caller is answered all the same.
    func threadHasExited()
}
