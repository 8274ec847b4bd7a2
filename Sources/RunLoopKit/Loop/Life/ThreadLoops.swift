import Synchronization

/// The state of a thread: its identity, its own loop, and the loop that runs on it. The own loop ends with the thread.
final class ThreadLoops {
    let id: ThreadID
    private var ownLoop: Loop?

    /// The loop of the innermost run on this thread: its own, or one in virtual time.
    private var runningLoop: Loop?

    /// What `runningLoop` was before runs of other loops began inside that loop's.
    private var outerLoops: [Loop?] = []

    /// The ended loop whose jobs run on this thread: the thread of last resort. Accessed only by the thread itself.
    var standsInFor: Loop?

    /// The loops in virtual time that are in a run on this thread or hosted there, innermost last. A hosted one may be
    /// deallocated meanwhile.
    private var virtualRuns: [(id: ObjectIdentifier, clock: VirtualClock, loop: () -> Loop?)] = []

    /// Whether the program's handler of mistakes is called on this thread.
    var isHandlingMistake = false

    /// The work on this thread whose callers wait for an answer, innermost last. Accessed only by the thread itself.
    ///
    /// A thread that exits inside such work (`pthread_exit`) leaves its frames without running a `defer` or a `deinit`.
    /// The end of the thread finds the work recorded here.
    private var workUnderWay: [any AnsweredWork] = []

    /// The ends of loops that are under way on this thread, innermost last.
    private var estates: [(loop: Loop, estate: Loop.Estate)] = []

    private init(_ id: ThreadID) { self.id = id }

    /// Settles what a loop leaves, and remembers it meanwhile: if a handler exits the thread, its end goes on with it.
    func settling(_ estate: Loop.Estate, of loop: Loop, _ body: () -> Void) {
        estates.append((loop, estate))
        body()
        // A forked child may return from it.
        if let index = estates.lastIndex(where: { $0.estate === estate }) { estates.remove(at: index) }
    }

    /// Runs work, and records it while it runs. Traps if a forked child returns from it: to answer takes locks, which
    /// a thread that does not exist in the child may hold.
    func run<Result>(_ work: any AnsweredWork, _ body: () -> Result) -> Result {
        workUnderWay.append(work)
        let process = ProcessMark.current
        let result = body()
        process.requireCurrent()
        workUnderWay.removeLast()
        return result
    }

    /// The calling thread's state.
    static var current: ThreadLoops {
        if let known = state { return Unmanaged.fromOpaque(known).takeUnretainedValue() }
        // The destructors of other thread-specific values may ask for Loop.current, in several rounds, after the
        // thread's loop has ended. They get an ended loop, and nothing is leaked after the last round.
        if System.isThreadMarked { return ThreadLoops(.ended) }
        let made = ThreadLoops(ThreadID.make())
        let pointer = Unmanaged.passRetained(made).toOpaque()
        state = pointer
        if made.id != .initial { System.atThreadExit(pointer, endBeforeKeys) }
        return made
    }

    /// The identity of the calling thread. Cheaper than `current.id`: the state is not retained.
    static var currentID: ThreadID {
        guard let known = state else { return current.id }
        return Unmanaged<ThreadLoops>.fromOpaque(known)._withUnsafeGuaranteedRef { $0.id }
    }

    /// Whether the calling thread is known by that identity. Makes none, so it is allowed in signal handlers.
    static func isKnown(as id: ThreadID) -> Bool {
        guard let known = state else { return false }
        return Unmanaged<ThreadLoops>.fromOpaque(known)._withUnsafeGuaranteedRef { $0.id == id }
    }

    var loop: Loop { runningLoop ?? loopOfItsOwn }

    /// The loop whose run is under way on this thread; or the thread's own, if that is likely to run: the main one that
    /// has run before, or a `LoopThread`'s.
    var loopThatRuns: Loop? {
        if let runningLoop { return runningLoop }
        if id == .initial { return Loop.main.hasEverRun ? Loop.main : nil }
        return ownLoop.flatMap { $0.isInRun || $0.isOfLoopThread ? $0 : nil }
    }

    /// Makes `loop` the thread's current loop while `body` is called.
    func running<Result>(_ loop: Loop, _ body: () -> Result) -> Result {
        let isOther = beginRunning(loop)
        defer { if isOther { endRunning() } }
        return body()
    }

    /// Makes `loop` the thread's current loop. Returns false if it is that already; otherwise `endRunning()` has to
    /// follow.
    @inline(__always)
    func beginRunning(_ loop: Loop) -> Bool {
        if runningLoop === loop || runningLoop == nil && ownLoop === loop { return false }
        return beginRunningOther(loop)
    }

    @inline(never)
    private func beginRunningOther(_ loop: Loop) -> Bool {
        if loop.isMain, ownLoop == nil, runningLoop == nil {
            ownLoop = loop
            return false
        }
        outerLoops.append(runningLoop)
        runningLoop = loop
        return true
    }

    func endRunning() { runningLoop = outerLoops.removeLast() }

    // The same for the calling thread, whose state is not retained.

    @inline(__always)
    static func beginRunning(_ loop: Loop) -> Bool {
        guard let known = state else { return current.beginRunning(loop) }
        return Unmanaged<ThreadLoops>.fromOpaque(known)._withUnsafeGuaranteedRef { $0.beginRunning(loop) }
    }

    /// Does nothing if the thread has ended: `current` is another object each time then, so nothing was begun.
    @inline(never)
    static func endRunning() { if state != nil { current.endRunning() } }

    /// The thread's own loop, whichever loop runs now. Made on first use.
    var loopOfItsOwn: Loop {
        if let ownLoop { return ownLoop }
        let made = makeLoop()
        ownLoop = made
        return made
    }

    private func makeLoop() -> Loop {
        if id == .initial { return Loop.main }
        let isInTask = withUnsafeCurrentTask { $0 != nil }
        let loop = Loop(clock: .monotonic, owner: id, isOfTaskThread: isInTask && id != .initial)
        if id == .ended { loop.end(tellingSources: false) }
        return loop
    }

    /// Gives the calling thread, which has just started, its loop and the identity that the loop was made for.
    static func begin(with loop: Loop) {
        let made = ThreadLoops(loop.owner)
        made.ownLoop = loop
        state = Unmanaged.passRetained(made).toOpaque()
    }

    // MARK: Virtual time

    /// Records a run that a clock counts, in case the thread exits inside it.
    func willRun(_ loop: Loop, in clock: VirtualClock) {
        virtualRuns.append((ObjectIdentifier(loop), clock, { [weak loop] in loop }))
    }

    func hasRun(_ loop: Loop) {
        let id = ObjectIdentifier(loop)
        if let index = virtualRuns.lastIndex(where: { $0.id == id }) { virtualRuns.remove(at: index) }
    }

    // MARK: The end of a thread

    /// The calling thread's state, retained; nil if it has none yet. Kept twice: where it is read fast, and for the
    /// key, whose destructor ends it with the thread.
    private static var state: UnsafeMutableRawPointer? {
        get { System.threadState }
        set {
            System.set(newValue, for: key)
            System.threadState = newValue
        }
    }

    /// The key and 1; 0 before the first use. No lazy global: see `ProcessMark`.
    private static let keyAndOne = Atomic<Int>(0)

    private static var key: CThreadKey {
        // Acquire: the key has been made.
        let known = keyAndOne.load(ordering: .acquiring)
        return known != 0 ? CThreadKey(known - 1) : makeKey()
    }

    /// Of two threads that do so at the same moment, one deletes its key.
    @inline(never)
    private static func makeKey() -> CThreadKey {
        // In a forked child the calling thread has a new identity, and must not end the parent's loops.
        System.afterForkInChild { ThreadLoops.state = nil }
        let made = System.makeThreadKey { pointer in
            guard let pointer else { return }
            // Cancel handlers that run now find the ending loop in Loop.current, not a new one.
            ThreadLoops.state = pointer
            ThreadLoops.endThread(pointer)
        }
        let (isFirst, found) = keyAndOne.compareExchange(
            expected: 0, desired: Int(made) + 1, successOrdering: .releasing, failureOrdering: .acquiring)
        if isFirst { return made }
        System.delete(made)
        return CThreadKey(found - 1)
    }

    /// Ends the thread's state before libdispatch ends its own, by a key with an earlier destructor. A cancel or end
    /// handler that resumes a task needs libdispatch's: it would use freed memory.
    ///
    /// `exit` calls this, too. In a run, and in a handler of the loop's end, the thread cannot tell `exit` from
    /// `pthread_exit`, and leaves the end to the key.
    private static let endBeforeKeys: @convention(c) (UnsafeMutableRawPointer?) -> Void = { pointer in
        // In a forked child, the state was the parent's.
        guard let pointer, pointer == state else { return }
        let isInRun = Unmanaged<ThreadLoops>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.isInRun }
        if !isInRun { endThread(pointer) }
    }

    private static func endThread(_ pointer: UnsafeMutableRawPointer) {
        let loops = Unmanaged<ThreadLoops>.fromOpaque(pointer).takeRetainedValue()
        loops.end()
        state = nil
        System.isThreadMarked = true
    }

    private var isInRun: Bool {
        ownLoop?.currentMode != nil || !estates.isEmpty || runningLoop != nil || !virtualRuns.isEmpty
            || !workUnderWay.isEmpty
    }

    private func end() {
        // Before the loop's end, whose handlers may take long.
        for work in workUnderWay.reversed() { work.threadHasExited() }
        workUnderWay = []
        // A handler of an end has exited the thread: the others are still to be called.
        while let (loop, estate) = estates.popLast() { settling(estate, of: loop) { loop.settle(estate) } }
        // A thread that exits inside a run never reaches the end of the run, nor of those below it.
        for run in virtualRuns.reversed() { run.loop()?.end(tellingSources: true) }
        // The initial thread ends before its process if it has been given away.
        (id == .initial ? Loop.main : ownLoop)?.end(tellingSources: true)
        for run in virtualRuns { run.clock.endRun(on: id) }
        (runningLoop, outerLoops, standsInFor) = (nil, [], nil)
    }
}

/// Work whose caller waits for an answer.
protocol AnsweredWork: AnyObject {
    /// The thread has exited inside the work, which does not return. Answers the waiting caller.
    func threadHasExited()
}
