/// Several ``LoopThread``s that share work: each piece goes to one of them, and runs there from beginning to end. Any
/// thread may call everything here, even the pool's own, unless a comment says otherwise.
///
/// For work that blocks or computes, and so must not occupy a thread that responds: reading files, calling into a C
/// library, compressing. The workers have loops, so timers and sources can live on them too.
///
/// ```swift
/// let pool = try LoopThreadPool(count: 4, options: .init(name: "files", nice: 5))
/// let size = try await pool.run { "one".utf8.count }
/// let sizes = try await pool.map(["two", "three"]) { text in text.utf8.count }
/// pool.perform { print("on files-0, -1, -2 or -3: \(size), \(sizes)") }
/// try await pool.drain()
/// pool.stop()
/// ```
///
/// **Which worker.** Work with a key always goes to the key's worker, which runs the pieces of a key one after the
/// other, in the order in which they were handed over. The rest waits in one queue, and begins in that order: whichever
/// worker is free takes the next piece. So a short piece does not wait behind a long one while another worker is free.
/// (With ``LoopThreadPool/Policy/roundRobin`` each piece belongs to a worker instead.)
///
/// **A worker that is stuck**, in a piece that blocks, stops neither the others nor the queue. The pieces that belong
/// to it wait, those of its keys. ``unfinished`` shows which worker is stuck.
///
/// **A worker's own loop** comes around between two pieces if it has blocks to run, otherwise after 32 pieces at most:
/// its timers and sources wait so long.
///
/// **A piece that runs its loop nested** gets further pieces there, also those that were handed over before. If each
/// does so, each runs inside the one before, as deep as the queue is long.
///
/// **No priorities.** For work that must not wait behind other work make a second pool; its options have a `nice`.
///
/// **How many.** As many as processors for work that computes, more for work that blocks; the number is fixed. The
/// queues have no limit: a producer that may be too fast looks at ``unfinished``, or sends to a ``Loop/MessagePort``
/// with a capacity on one of ``loops``. For a server's connections see
/// <doc:TerminalsFilesAndSockets#Connections-on-several-processors>.
///
/// **Lifetime.** Dropping the last reference stops the threads, as `stop()` does; neither they nor the work keep the
/// pool alive.
///
/// Cocoa: `OperationQueue` with a `maxConcurrentOperationCount`, a concurrent dispatch queue.
public final class LoopThreadPool: Sendable {
    /// The worker for a piece of work without a key.
    public enum Policy: Sendable, Hashable {
        /// The first worker that is free: the pieces wait in one queue. Of several free ones, the one that was picked
        /// last, which may not have gone to sleep yet, or else the first.
        ///
        /// Only work handed over through the pool counts, not sources and timers: for connections, which stay on their
        /// loop, take ``roundRobin``.
        case leastLoaded

        /// The next in turn, however busy it is: a piece may wait behind a long one while another worker is free.
        case roundRobin
    }

    /// The name from the options; the threads are called `name-0`, `name-1` and so on.
    public let name: String

    /// The workers' loops, for timers, sources and observers; in the order of the threads' numbers. The pool does not
    /// count blocks posted to them: `drain()` does not wait for these.
    public var loops: [Loop] { workload.loops }

    /// The options that the kernel refused, for all threads together, if ``LoopThread/Options/onRefusal`` is
    /// `runAnyway`.
    public var refusedOptions: [LoopError] { threads.flatMap(\.refusedOptions) }

    let threads: [LoopThread]
    let workload: Workload

    /// Starts the threads. Their loops accept work when this returns.
    ///
    /// - Parameters:
    ///   - count: How many threads. Zero or less is thrown as EINVAL.
    ///   - policy: How work is distributed.
    ///   - options: For every thread; see ``LoopThread/Options``. The kernel shows the first 15 bytes of a name, so a
    ///     long one hides the thread's number there.
    ///   - clock: Makes all loops run in the virtual time of this clock.
    /// - Throws: ``LoopError`` as `LoopThread(options:clock:)` does, if it fails for any of the threads. The threads
    ///   that were started have ended then.
    public init(
        count: Int, policy: Policy = .leastLoaded, options: LoopThread.Options = .init(), clock: VirtualClock? = nil
    ) throws(LoopError) {
        guard count > 0 else {
            throw LoopError(
                call: "LoopThreadPool(count: \(count))", code: System.invalidArgument,
                advice: "a pool has at least one thread")
        }
        name = options.name
        threads = try Self.start(count, options, clock)
        workload = Workload(workers: count, policy: policy, loops: threads.map(\.loop))
        if policy == .leastLoaded { workload.observeNestedRuns() }
    }

    private static func start(
        _ count: Int, _ options: LoopThread.Options, _ clock: VirtualClock?
    ) throws(LoopError) -> [LoopThread] {
        var threads: [LoopThread] = []
        do throws(LoopError) {
            while threads.count < count {
                var own = options
                own.name += "-\(threads.count)"
                threads.append(try LoopThread(options: own, clock: clock))
            }
        } catch {
            for thread in threads { thread.stop() }
            for thread in threads { thread.join() }
            throw error
        }
        return threads
    }

    deinit { if hasThreads { stopQueue(discarding: false) } }

    /// How many threads there are.
    public var count: Int { threads.count }

    /// Whether the caller is on one of the pool's threads.
    public var isCurrent: Bool { threads.contains { $0.isCurrent } }

    // MARK: Work

    /// Hands a block to a worker and returns.
    ///
    /// - Parameters:
    ///   - label: What diagnostics call the block; nil to call it by the place where it was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the worker's thread.
    /// - Returns: Whether the block was accepted. It will run then, in the worker's common modes, unless
    ///   ``stop(discardingPending:)`` drops it, or an exit of the thread of its worker, or of all workers. False once
    ///   the pool has been stopped, and if the thread of its worker, or of all workers, has exited. That is reported as
    ///   ``Loop/Mistake/refusedBlock(block:thread:)``.
    ///
    /// Cocoa: `OperationQueue.addOperation`; `DispatchQueue.async`.
    @discardableResult
    public func perform(
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        _ block: @escaping @Sendable () -> Void
    ) -> Bool {
        guard hasThreads else { return false }
        let place = Place(label, file, line)
        return (sharesQueue ? enqueue(place, nil, block) : perform(workload.begin(), place, block))
            || reportRefusal(place)
    }

    /// Hands a block to the key's worker and returns. Blocks with equal keys run one after the other, in the order in
    /// which they were handed over. Otherwise as `perform(_:)`.
    @discardableResult
    public func perform(
        for key: some Hashable, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        _ block: @escaping @Sendable () -> Void
    ) -> Bool {
        guard hasThreads else { return false }
        let place = Place(label, file, line)
        return perform(workload.begin(on: worker(for: key)), place, block) || reportRefusal(place)
    }

    /// Runs a block on a worker and suspends until it is done. Cancellation and errors are those of
    /// ``LoopThread/run(in:for:label:file:line:_:)`` without a limit, but the errors have the pool's name. The block is
    /// handed over before the task suspends.
    @discardableResult
    public nonisolated(nonsending) func run<Value: Sendable>(
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        guard hasThreads else { throw LoopThread.Stopped(thread: name) }
        guard sharesQueue else { return try await run(workload.begin(), Place(label, file, line), block) }
        let (workload, ticket) = (workload, Workload.Ticket())
        nonisolated(unsafe) let result = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        defer { result.deallocate() }
        let reply = AwaitedReply({ result.initialize(to: try block()) }, .ofThread(name)) { workload.finish(ticket) }
        _ = enqueue(Place(label, file, line), ticket, reply.reply.makeBlock())
        try await reply.value()
        return result.move()
    }

    /// Runs a block on the key's worker and suspends until it is done. Otherwise as the form without a key.
    @discardableResult
    public nonisolated(nonsending) func run<Value: Sendable>(
        for key: some Hashable, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        guard hasThreads else { throw LoopThread.Stopped(thread: name) }
        return try await run(workload.begin(on: worker(for: key)), Place(label, file, line), block)
    }

    /// A limit of time, as `LoopThread.run(for:)` has it, would be taken for a key.
    @available(*, unavailable, message: "A pool's `for:` takes a key. It has no limit of time: cancel the task.")
    @discardableResult
    public nonisolated(nonsending) func run<Value: Sendable>(
        for limit: Duration, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value { fatalError() }

    /// A limit of time would be taken for a key.
    @available(*, unavailable, message: "A pool's `for:` takes a key. It has no limit of time.")
    @discardableResult
    public func perform(
        for limit: Duration, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        _ block: @escaping @Sendable () -> Void
    ) -> Bool { fatalError() }

    /// The loop of the key's worker, for timers and sources that belong with the key's work. It is the same for equal
    /// keys as long as the process lives. Several keys share a worker.
    ///
    /// Blocks posted to the loop itself run, but the pool does not count them: neither `drain()` nor `leastLoaded`
    /// knows of them.
    public func loop(for key: some Hashable) -> Loop { threads[worker(for: key)].loop }

    private var sharesQueue: Bool { workload.policy == .leastLoaded }

    /// Reports a block that no worker takes. Returns false.
    private func reportRefusal(_ place: Place) -> Bool {
        Mistakes.shared.report(.refusedBlock(block: place.nameOfBlock, thread: name.printable))
        return false
    }

    private func enqueue(_ place: Place, _ ticket: Workload.Ticket?, _ block: @escaping @Sendable () -> Void) -> Bool {
        guard let calls = workload.add(place, ticket: ticket, block) else { return false }
        workload.post(calls)
        return true
    }

    private func worker(for key: some Hashable) -> Int { Int(UInt(bitPattern: key.hashValue) % UInt(threads.count)) }

    private func perform(_ piece: Workload.Piece, _ place: Place, _ block: @escaping @Sendable () -> Void) -> Bool {
        let work = PooledBlock(block, piece, of: workload)
        let isAccepted = threads[piece.worker].loop.perform(in: .common, place) { work.run() }
        if !isAccepted { workload.noteEnd(of: piece.worker) }
        return isAccepted
    }

    private nonisolated(nonsending) func run<Value: Sendable>(
        _ piece: Workload.Piece, _ place: Place, _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        nonisolated(unsafe) let result = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        defer { result.deallocate() }
        let reply = AwaitedReply({ result.initialize(to: try block()) }, .ofThread(name)) { [workload] in
            workload.finish(piece)
        }
        let loop = threads[piece.worker].loop
        let posted = loop.performAwaited(in: .common, place, reply.reply.makeBlock())
        if posted == nil { workload.noteEnd(of: piece.worker) }
        try await reply.value(to: posted, of: loop, in: .common)
        return result.move()
    }

    /// The number of unfinished pieces of each worker, in the order of the threads' numbers. Shows which worker is
    /// stuck. Pieces that wait in the queue count as if the workers with the fewest had them.
    public var unfinished: [Int] { hasThreads ? workload.unfinished : Array(repeating: 0, count: count) }

    // MARK: Waiting

    /// Suspends until everything that the pool has accepted so far is finished: has run, was cancelled, or was dropped
    /// by ``LoopThreadPool/stop(discardingPending:)``.
    ///
    /// It does not wait for work that is accepted after the call, but waits for a stuck worker. It refuses and stops
    /// nothing, and may follow a stop.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before that.
    public nonisolated(nonsending) func drain() async throws {
        guard hasThreads else { return }
        let promise = Promise<Void>()
        let drain = workload.whenFinished { promise.fulfil(.success(())) }
        try await promise.value { [workload] in
            if workload.giveUp(drain: drain) { promise.fulfil(.failure(CancellationError())) }
        }
    }

    /// As ``drain()``, but blocks the calling thread.
    ///
    /// - Precondition: Not called on one of the pool's threads, nor on a thread that one of them waits for in its work:
    ///   both would wait forever. Traps there with a message.
    @available(*, noasync, message: "It would block a thread of the task: await drain().")
    public func drainAndWait() {
        _ = drainAndWait(for: nil, "drainAndWait()")
    }

    /// As ``drainAndWait()``, for a limited time: for a program that ends whether or not its workers do.
    ///
    /// - Parameter limit: How long to wait at most, in real time even for loops in virtual time. Zero or less: it only
    ///   looks.
    /// - Returns: Whether everything was finished in time. If not, the work goes on; ``unfinished`` shows which worker
    ///   has how much left.
    @available(*, noasync, message: "It would block a thread of the task: await drain().")
    public func drainAndWait(for limit: Duration) -> Bool {
        drainAndWait(for: limit, "drainAndWait(for:)")
    }

    private func drainAndWait(for limit: Duration?, _ call: String) -> Bool {
        requireForeignThread(call)
        guard hasThreads else { return true }
        let deadline = limit.map { System.monotonicNanoseconds().addingSaturating(max(0, $0.wholeNanoseconds)) }
        let waiter = Waiter()
        let drain = workload.whenFinished { waiter.fulfil(nil) }
        // Only threads with work that the drain waits for: they may block on the caller later.
        let targets = { [workload, threads] in
            let workers = workload.workers(awaitedBy: drain)
            return (workers.all.map { threads[$0].waitTarget }, workers.any.map { threads[$0].waitTarget })
        }
        var isFinished = false
        WaitRings.shared.waitingOrTrapping("LoopThreadPool.\(call)", for: .threads(targets), hasLimit: limit != nil) {
            // Never throws: nothing fulfils the waiter with an error.
            isFinished = (try? waiter.wait(until: deadline)) ?? true
        }
        return isFinished || !workload.giveUp(drain: drain)
    }

    /// False in a forked child, where no thread finishes what the parent's had begun; and the lock of the workload may
    /// be held for ever.
    var hasThreads: Bool { threads[0].loop.process.isCurrent }

    // MARK: The end

    /// Ends the threads after they have run the accepted work. From now on the pool refuses work. Does not wait: see
    /// ``join()``. A later call does nothing. From any thread, but not in a Unix signal handler.
    public func stop() { stop(discardingPending: false) }

    /// Ends each thread as ``LoopThread/stop(discardingPending:)`` does.
    public func stop(discardingPending: Bool) {
        if hasThreads { stopQueue(discarding: discardingPending) }
        for thread in threads { thread.stop(discardingPending: discardingPending) }
    }

    /// The workers do what is in the queue, unless it is dropped.
    private func stopQueue(discarding discards: Bool) {
        workload.post(workload.stop(discarding: discards))
    }

    /// Suspends until all threads have ended, as ``LoopThread/waitForEnd()`` does. Does not stop them. It waits for a
    /// stuck worker.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before that.
    public nonisolated(nonsending) func waitForEnd() async throws {
        for thread in threads { try await thread.waitForEnd() }
    }

    /// Waits until all threads have ended, as ``LoopThread/join()`` does. Does not stop them. It waits for a stuck
    /// worker.
    ///
    /// - Precondition: Not called on one of the pool's threads, which would wait forever; traps there with a message.
    @available(*, noasync, message: "It would block a thread of the task: await waitForEnd().")
    public func join() {
        requireForeignThread("join()")
        for thread in threads { thread.join() }
    }

    private func requireForeignThread(_ call: String) {
        guard let own = threads.first(where: { $0.isCurrent }) else { return }
        fatalError(
            "RunLoopKit: LoopThreadPool.\(call) was called on the pool's own thread \"\(own.name.printable)\", which "
                + "would wait for itself for ever. Call it from outside.")
    }
}
