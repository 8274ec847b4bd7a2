import Synchronization

extension Loop {
    /// A mistake of the program that otherwise shows only in that nothing happens.
    public enum Mistake: Sendable, Equatable, CustomStringConvertible {
        /// A loop refused an item. Reported even if the caller checks the result of ``Loop/add(_:in:)``, which the loop
        /// cannot know.
        case refusedItem(item: String, reason: Refusal)
        /// An item was deallocated that was never added to a loop, and so has done nothing. Call
        /// ``Loop/Item/invalidate()`` on one that the program has made and does not need after all.
        ///
        /// Reported, too, if the `init` of an object throws after it has made the item and set its handler: set
        /// handlers behind what throws. An item without a handler is not reported, unless it is a
        /// ``Loop/ChildProcess`` or a ``Loop/Connection``.
        case neverAdded(item: String)
        /// Swift concurrency lends a thread to tasks, and two seconds after its loop got an item or a block, no thread
        /// has run that loop. An example is ``Loop/current`` in a task, which is a limiter's default.
        case loopThatNeverRuns(item: String)
        /// A limiter's call waits on ``Loop/main``, which no thread has run: for two seconds its action has been due.
        case mainLoopThatNeverRuns(item: String)
        /// A ``LoopThread`` was dropped, and not stopped, while timers that wait for a time, or version-1 sources other
        /// than ports, were on it: its last reference was released.
        ///
        /// Items with handlers of an actor do not count, since the actor is gone as well. Nor do limiters, which report
        /// a dropped call themselves: ``Loop/Mistake/droppedLimiter(limiter:)``.
        case droppedThread(name: String, items: [String])
        /// The body of ``Loop/runMain(_:)`` has returned in the main loop's first pass, and has left these, which it
        /// had added to ``Loop/main``: nothing runs that any more.
        case mainBodyEndsAtOnce(items: [String])
        /// ``Loop/main`` was stopped again, and for two seconds the body of ``Loop/runMain(_:)`` has not returned. The
        /// first stop has cancelled its task, and what the body awaits does not heed that; or it cleans up.
        case mainBodyGoesOn
        /// A loop was run in ``Loop/Mode/common``, in which no loop can run: `run` returned `finished`.
        case runInCommonModes
        /// A run with time to wait had nothing to wait for, and returned `finished` at once. `others` are the modes in
        /// which the loop has something to wait for.
        ///
        /// - In the default mode: reported if none of that mode's runs has had anything to wait for yet. In virtual
        ///   time it is no mistake, since a test may run so.
        /// - In another mode: reported if nothing was ever added or posted to it.
        case emptyRun(mode: Mode, others: [Mode])
        /// A limiter discarded a pending call before it could act for the first time: it was deallocated, or the
        /// ``LoopThread`` that it is on. It lived for less than its interval, in real time, and had
        /// ``RateLimitRelease/discard``; or it has never had a handler, without which it cannot flush either. A thread
        /// that was stopped before is no mistake, unless the limiter was to flush.
        ///
        /// Reported, too, if a limiter in no mode gets its first handler after a call was due.
        ///
        /// Reported, too, if the `init` of an object throws that has called its limiter. The object's `deinit` does not
        /// run if a property was not set yet. So call the limiter behind what throws, or pass `flush` and a handler.
        case droppedLimiter(limiter: String)
        /// A limiter with ``RateLimitRelease/flush`` was called after the end of its loop, and refused the call: an end
        /// handler that calls it is too late. Reported even if the caller checks the result.
        case refusedCall(limiter: String)
        /// A loop has ended, or its ``LoopThread`` or ``LoopThreadPool`` was stopped, and refused a block, which never
        /// runs. Reported even if the caller checks the result of ``LoopThread/perform(in:label:file:line:_:)`` and its
        /// like. Not reported where the answer cannot be overlooked: `run`, `performAndWait`, and
        /// ``Loop/performCancellable(in:wake:label:file:line:_:)``.
        case refusedBlock(block: String, thread: String)
        /// ``Loop/MessagePort/send(_:)`` was called on a full port, which refused the message. Found once for each
        /// port. Reported even if the caller checks the result, which the port cannot know: call
        /// ``Loop/MessagePort/trySend(_:)`` there.
        case refusedMessage(port: String, capacity: Int)
        /// A loop has ended, and messages wait in a ``Loop/MessagePort`` that no other loop has: a ``LoopThread`` that
        /// is stopped runs the blocks that it has accepted, and handles no messages. It is found after the handlers of
        /// ``Loop/onEnd(_:)``, which can take them: ``Loop/MessagePort/takeWaiting()``.
        case leftMessages(port: String, count: Int)
        /// The handler of a ``Loop/ChildProcess`` has returned, and what the child has written to a `.pipe` waits,
        /// since the pipe's connection has no handler. Who sets the handler later still gets it; but a child that
        /// writes more than a pipe holds never ends that way. Not found if a task waits for the end.
        case unreadOutput(connection: String)
        /// ``Loop/stop()`` was called on the loop's own thread before its first run, and so was lost; and that run is
        /// one of ``Loop/run()``, which has no limit.
        case stopBeforeRun(thread: String)
        /// ``VirtualClock/advance(by:)`` has passed a deadline of a loop that belongs to another thread, which did not
        /// run it when the call began, nor when it ended: nothing was called.
        case advanceWithoutRun(thread: String)
        /// A level-triggered ``Loop/FileDescriptorSource`` was served some 2,000 times in a row, and its handler left
        /// the descriptor as it was, so that the loop spins. Found once for each source of a pipe that is read, a
        /// terminal or a stream socket, if its peer has hung up, or its handler returns before a peer could answer (in
        /// 3 µs, or in longer on a slow machine): the kernel does not tell for others.
        case descriptorLeftReady(source: String, ready: String)
        /// More real-time signals came than a ``Loop/SignalSource`` holds, before a run served it: so many are lost.
        case lostSignals(source: String, count: Int)
        /// A ``Loop/Listener`` could not accept a connection, for lack of descriptors or memory, and accepts nothing
        /// for a second. It goes on trying. Found once for each listener.
        case pausedListener(listener: String, error: LoopError)
        /// ``Listener/end()`` could not accept the connections that still waited, for lack of descriptors or memory:
        /// they are reset, and what their peers have sent is lost.
        case resetConnections(listener: String, error: LoopError)
        /// ``Loop/main`` was given work that never runs: its thread has been given away.
        case mainLoopWithoutThread
        /// Jobs of Swift concurrency were handed to a loop that has ended. They run on a thread of last resort. Found
        /// once for each loop. If `thread` is nil, the loop was deallocated, and the jobs are those of tasks that
        /// prefer it. (Waiting jobs of its actors trap then.)
        ///
        /// Two cases are easily overlooked. A task of an actor on the loop, or that prefers it, hands over such a job
        /// when the loop's end resumes it, as with ``Loop/Ended`` from a sleep. So does an actor with an `isolated
        /// deinit` that is released after the stop.
        ///
        /// An actor that refuses such calls by `guard thread.isCurrent`, as <doc:SwiftConcurrency#The-end> shows, has
        /// made no mistake, but Swift does not tell the loop of that. Others hold their ``LoopThread``, and cancel and
        /// await their tasks before it is stopped.
        case jobsOfEndedLoop(thread: String?)
        /// Rules from a snapshot do not fit the method that they have waited for, which was declared now; or a type
        /// that they name, which the engine has just learned of.
        case rulesNotApplied(fault: String)

        /// Why a loop refused an item.
        public enum Refusal: String, Sendable {
            /// It was invalidated.
            case itemIsInvalid = "is invalid: make a new one"
            /// It is in another loop, and of a kind that cannot be in two.
            case itemIsInAnotherLoop = "is in another loop, and can be in one only: remove it there first"
            /// Its handler belongs to the main actor, and the loop is neither ``Loop/main`` nor in virtual time.
            case itemIsForMainActor = "has a handler of the main actor: add it to Loop.main, whose thread that is"
            /// It was made before a fork, and this process is the child, in which it hears nothing.
            case itemIsOfParent = "was made before the fork, and hears nothing in the child: make a new one there"
            /// The loop has ended, or its ``LoopThread`` was stopped.
            case loopHasEnded = "was added to a loop that has ended: add it to the loop of a thread that runs"
        }

        /// The mistake and the way out, in one sentence.
        public var description: String {
            switch self {
            case .refusedItem(let item, let reason): "The loop refused the \(item), which \(reason.rawValue)."
            case .neverAdded(let item):
                "The \(item) was deallocated, and had never been added to a loop, so nothing called its handler. "
                    + "Add it, by add(_:in:), which keeps it as long as it is valid; or call invalidate() if it is not "
                    + "needed."
            case .loopThatNeverRuns(let item):
                "The \(item) waits on the loop of a thread of Swift concurrency, which no thread runs: give it the "
                    + "loop of a LoopThread; or Loop.main, which a program runs by Loop.runMain { … } instead of an "
                    + "async main function."
            case .mainLoopThatNeverRuns(let item):
                "A call of the \(item) has been due for two seconds on Loop.main, which has never run: run it, by "
                    + "Loop.main.run() or Loop.runMain { … }; or give the limiter the loop of a LoopThread."
            case .droppedThread(let name, let items):
                "The LoopThread \"\(name.printable)\" was dropped, and so stopped, while these waited on it: "
                    + "\(items.joined(separator: ", ")). Keep a reference to the LoopThread as long as it is to work, "
                    + "or call stop() before it is dropped."
            case .mainBodyEndsAtOnce(let items):
                "The body of Loop.runMain has returned at once, and nothing serves what it has added: "
                    + "\(items.joined(separator: ", ")). Await in the body what the program waits for; or set it up "
                    + "outside of runMain, and call Loop.main.run()."
            case .mainBodyGoesOn:
                "Loop.main was stopped again, and the body of Loop.runMain has not returned. Unless it cleans up, it "
                    + "does not heed the first stop, which has cancelled its task: a detached task that it awaits "
                    + "does not hear of that, nor does a continuation. Await a child task; or use "
                    + "withTaskCancellationHandler."
            case .runInCommonModes:
                "A loop cannot run in the mode 'common', which stands for a set of modes; run returned 'finished'. Run "
                    + "in one of them, such as 'default'."
            case .emptyRun(let mode, let others):
                "A run in the mode '\(mode)' returned 'finished' at once, since that mode has no source, no timer and "
                    + "no block\(others.isEmpty ? "" : "; the loop has some in \(others.inWords)"). Add an item to the "
                    + "mode before the run, or "
                    + (mode == .default
                        ? "use a LoopThread, which runs until it is stopped."
                        : "call addCommonMode(_:) if the mode is to have the items of the common modes.")
            case .droppedLimiter(let limiter):
                "The \(limiter) has discarded a call, since it was deallocated, or the LoopThread that it is on was "
                    + "deallocated or stopped, or the limiter is in no mode, before it could act. Keep a reference to "
                    + "both; set its handler, if it has none; pass whenReleased: .flush if it is to act on its last "
                    + "call; or call cancel() before."
            case .refusedCall(let limiter):
                "The \(limiter) refused a call, since its loop has ended: what it flushes at the end are the calls "
                    + "before. Call it before the loop's thread is stopped, or do without it what is left then."
            case .refusedBlock(let block, let thread):
                "The \(block) was refused, since \"\(thread)\" has been stopped, or its loop has ended: the block "
                    + "does not run, as the answer of the call (false, or nil) says. Hand it over before the stop, "
                    + "which runs what was accepted and is due. Where a stop may come first, use run, or "
                    + "performCancellable of a loop: their answers come without a report."
            case .refusedMessage(let port, let capacity):
                "The \(port) refused a message, since as many wait as it has capacity for (\(capacity)). Where no "
                    + "message may be lost, send with send(whenRoom:); otherwise look at the result of trySend(_:)."
            case .leftMessages(let port, let count):
                "The loop of the \(port) has ended, and \(counted(count, "message")) in it "
                    + "\(count == 1 ? "was" : "were") not handled. Before the thread is stopped, wait until they were: "
                    + "by finish() and an end handler, or answers; or take them by takeWaiting() in an onEnd handler."
            case .unreadOutput(let connection):
                "The \(connection) has no handler, and what the child has written there waits, though its end was "
                    + "handled. Set the handler before the child is added, since a child that writes more than a pipe "
                    + "holds waits for it; or start the child with .null or .inherited."
            case .stopBeforeRun(let thread):
                "The first run of the loop of \"\(thread.printable)\" begins after a stop(), which is lost: it does "
                    + "not end this run. Let a block stop the loop, by perform { loop.stop() }; or do not run it."
            case .advanceWithoutRun(let thread):
                "VirtualClock.advance(by:) has passed a deadline of the loop of \"\(thread.printable)\", which that "
                    + "thread does not run, and so nothing was called. Make the loop, and advance the clock, on one "
                    + "thread (between two awaits, a task may change its thread); or let the other thread run it "
                    + "meanwhile, as a LoopThread does."
            case .descriptorLeftReady(let source, let ready):
                "The handler of the \(source) was called some 2,000 times in a row for what it leaves as it is "
                    + "(\(ready)), so that the loop spins. Let it read or write; or take that out of the source's "
                    + "interest; or, after a hang-up, invalidate the source."
            case .lostSignals(let source, let count):
                "The \(source) has lost \(counted(count, "signal")), since it was full when they came. Let its "
                    + "handler, and others of its loop, return sooner; run the loop in a mode that has the source; or "
                    + "let the sender wait for an answer."
            case .pausedListener(let listener, let error):
                "The \(listener) accepts nothing for a second, and then tries again (\(error)). Close connections that "
                    + "are idle, raise the limit (ulimit -n, RLIMIT_NOFILE), or set isAccepting to false while there "
                    + "are enough of them."
            case .resetConnections(let listener, let error):
                "The \(listener) has ended, and could not accept the connections that still waited, which are reset "
                    + "(\(error)). Raise the limit (ulimit -n, RLIMIT_NOFILE), close connections that are idle before "
                    + "the end, or let the handler close each one that it has answered."
            case .mainLoopWithoutThread:
                "Loop.main was given work that never runs: its thread, the process's initial one, has been given away "
                    + "(by dispatchMain(), an async main function, or Swift Testing). Let the program begin "
                    + "with Loop.runMain { … }, in main.swift or in a main function without 'async', whose body may "
                    + "await; or give the work to a LoopThread or to the main actor."
            case .jobsOfEndedLoop(let thread):
                "Jobs of Swift concurrency were handed to a loop that has ended"
                    + "\(thread.map { " (thread \"\($0.printable)\")" } ?? ""), and run on a thread of last resort. An "
                    + "actor whose functions guard thread.isCurrent need do nothing. Otherwise cancel and await tasks, "
                    + "which Loop.Ended resumes, and release actors, before the stop."
            case .rulesNotApplied(let fault): "The rules from a snapshot are not applied: \(fault)."
            }
        }
    }

    /// How the library handles mistakes. See ``Loop/mistakeHandling``.
    public enum MistakeHandling: Sendable {
        /// Report a mistake on stderr, the first time: a later one with the same text is not reported. The default.
        case report
        /// Do nothing.
        case ignore
        /// Trap, with the mistake as the message: for tests.
        case trap
        /// Call a handler, each time, on the thread that makes the mistake or finds it, with no lock held. A mistake of
        /// the handler itself is reported on stderr.
        case call(@Sendable (Mistake) -> Void)
    }

    /// How the library handles mistakes that otherwise show only in that nothing happens: ``Loop/Mistake`` lists them.
    /// One setting for the process, `report` by default. From any thread.
    ///
    /// ```swift
    /// Loop.mistakeHandling = .ignore  // silences all of them
    /// Loop.mistakeHandling = .call { print("mistake: \($0)") }
    /// ```
    ///
    /// A forked child inherits it. Only what such a child gives to its parent's loops is reported on stderr whatever
    /// the setting: a handler could wait there for locks of threads that the child does not have.
    public static var mistakeHandling: MistakeHandling {
        get { Mistakes.shared.handling }
        set { Mistakes.shared.handling = newValue }
    }
}

extension [Loop.Mode] {
    fileprivate var inWords: String { map { "'\($0)'" }.joined(separator: ", ") }
}

/// What to do about mistakes, and which were reported.
package final class Mistakes: @unchecked Sendable {
    private static let ofProcess = OnePerProcess { Mistakes(inheritingFrom: $0) }
    package static var shared: Mistakes { ofProcess.object }

    private let lock = Lock(.leaf)
    private var chosen: Loop.MistakeHandling
    private var reported: Set<String> = []

    /// Whether `chosen` is being replaced.
    private let isChanging = Atomic<Bool>(false)

    /// A forked child keeps its parent's choice, unless another thread was replacing it at the fork. It reads that
    /// without the lock, since no thread of its own changes it.
    private init(inheritingFrom parents: Mistakes?) {
        let inherited = parents.flatMap { $0.isChanging.load(ordering: .acquiring) ? nil : $0.chosen }
        chosen = inherited ?? .report
    }

    var handling: Loop.MistakeHandling {
        get { lock.withLock { chosen } }
        set {
            let old = lock.withLock {
                // Sequentially consistent: the change is between the two, whenever the fork is.
                isChanging.store(true, ordering: .sequentiallyConsistent)
                defer { isChanging.store(false, ordering: .sequentiallyConsistent) }
                return exchange(&chosen, with: newValue)
            }
            // Released without the lock: the deinit of what a handler captured may call back.
            withExtendedLifetime(old) {}
        }
    }

    package func report(_ mistake: Loop.Mistake) {
        switch handling {
        case .ignore: break
        case .trap: fatalError("RunLoopKit: \(mistake)")
        case .call(let handler):
            Lock.assertNoneHeld()
            let thread = ThreadLoops.current
            // One of the handler itself, such as a block that it hands to a stopped thread, would come back for ever.
            guard !exchange(&thread.isHandlingMistake, with: true) else { return sayOnce(mistake) }
            defer { thread.isHandlingMistake = false }
            handler(mistake)
        case .report: sayOnce(mistake)
        }
    }

    private func sayOnce(_ mistake: Loop.Mistake) {
        let text = mistake.description
        // Bounded, since labels may all differ.
        let isNew = lock.withLock { reported.count < 1_000 && reported.insert(text).inserted }
        if isNew { System.complain("RunLoopKit: \(text) (Reported only once.)") }
    }
}
