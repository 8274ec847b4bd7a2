/// Several `LoopThread`s that share work: each piece goes to one of them, and runs there from beginning to end.
///
/// For work that blocks or computes and so must not be done on the thread that answers: reading files, calling into a C
/// library, compressing. The workers have loops, so timers and sources can live on them too.
///
/// ```swift
/// let pool = try LoopThreadPool(count: 4, options: .init(name: "files", nice: 5))
/// let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
///     for text in ["one", "three"] { group.addTask { try await pool.run { text.utf8.count } } }
///     return try await group.reduce(0, +)
/// }
/// pool.perform { print("on files-0, -1, -2 or -3: \(sizes)") }
/// try await pool.drain()
/// pool.stop()
/// ```
///
/// **Which worker.** Work that names a key goes to the key's worker, always the same. For the rest the `Policy` decides
/// when the work is handed over, and it stays with that decision: pieces of one worker run one after the other, in the
/// order in which they were handed over; those of different workers run at the same time.
///
/// **A worker that is stuck**, in a piece that blocks for long or for ever, does not stop the others. What already waits
/// behind that piece goes on waiting. `leastLoaded` gives the stuck worker nothing more while another has less to do,
/// so in a burst still as much as the others have waiting; `roundRobin` goes on giving it its share, which waits while
/// everything else runs. `unfinished` shows who is stuck.
///
/// **Lifetime.** Dropping the last reference stops the threads, as `stop()` does; neither they nor the work keep the
/// pool alive.
///
/// Everything here may be called from any thread, the pool's own included but for what says otherwise. Cocoa:
/// `OperationQueue` with a `maxConcurrentOperationCount`, a concurrent dispatch queue; but here threads are as many as
/// you say, and stay.
public final class LoopThreadPool: Sendable {
    /// Which worker a piece of work goes to that names no key.
    public enum Policy: Sendable, Hashable {
        /// The one with the fewest pieces that were accepted and are not finished; among equals, the next in turn. Only
        /// what is handed over through the pool counts.
        case leastLoaded

        /// The next in turn, however busy it is.
        case roundRobin
    }

    /// The name that the options gave; the threads are called `name-0`, `name-1` and so on.
    public let name: String

    /// The workers' loops, for timers, sources and observers; in the order of the threads' numbers.
    public var loops: [Loop] { threads.map(\.loop) }

    /// The options that the kernel refused, for all threads together, if `Options.onRefusal` is `runAnyway`.
    public var refusedOptions: [LoopError] { threads.flatMap(\.refusedOptions) }

    private let threads: [LoopThread]
    private let workload: Workload

    /// Starts the threads, and returns when all their loops are ready to run.
    ///
    /// - Parameters:
    ///   - count: How many threads. Zero or less is thrown as EINVAL.
    ///   - policy: Which worker gets which work.
    ///   - options: For every thread; see `LoopThread.Options`. The kernel shows the first 15 bytes of a name, so a long one
    ///     hides the thread's number there.
    ///   - clock: Makes the loops run in virtual time, all in the same.
    /// - Throws: `LoopError` as `LoopThread(options:clock:)` does, if it fails for any of the threads. Those that had
    ///   been started are gone then.
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
        workload = Workload(workers: count, policy: policy)
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

    /// How many threads there are.
    public var count: Int { threads.count }

    /// Whether the caller is on one of the pool's threads.
    public var isCurrent: Bool { threads.contains { $0.isCurrent } }

    // MARK: Work

    /// Hands a block to a worker and returns.
    ///
    /// - Returns: Whether the block was accepted, and so will run, in the worker's common modes. False once the pool has
    ///   been stopped.
    ///
    /// Cocoa: `OperationQueue.addOperation`; `DispatchQueue.async`.
    @discardableResult
    public func perform(_ block: @escaping @Sendable () -> Void) -> Bool { perform(workload.begin(), block) }

    /// Hands a block to the key's worker and returns: blocks with equal keys run one after the other, in the order in
    /// which they were handed over. Otherwise as `perform(_:)`.
    @discardableResult
    public func perform(for key: some Hashable, _ block: @escaping @Sendable () -> Void) -> Bool {
        perform(workload.begin(on: worker(for: key)), block)
    }

    /// Runs a block on a worker and suspends until it is done.
    ///
    /// The block is handed over before the task suspends, as by `perform(_:)`.
    ///
    /// Cancelling the task before the block has begun takes it back. A task that is cancelled already hands nothing over.
    ///
    /// - Throws: What the block throws; `LoopThread.Stopped` with the pool's name when the block was refused, or
    ///   accepted and then discarded, because the pool has been stopped; `LoopThread.Exited` with the pool's
    ///   name when the worker's thread exits inside the block; `CancellationError`.
    @discardableResult
    public nonisolated(nonsending) func run<Value: Sendable>(
        _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        return try await run(workload.begin(), block)
    }

    /// Runs a block on the key's worker and suspends until it is done. Otherwise as `run(_:)`.
    @discardableResult
    public nonisolated(nonsending) func run<Value: Sendable>(
        for key: some Hashable, _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        return try await run(workload.begin(on: worker(for: key)), block)
    }

    /// The loop of the key's worker, the same for equal keys as long as the process lives: for timers and sources that
    /// belong with the key's work. Several keys share a worker.
    ///
    /// Blocks posted to the loop itself run, but the pool does not count them: neither `drain()` nor `leastLoaded` knows
    /// of them.
    public func loop(for key: some Hashable) -> Loop { threads[worker(for: key)].loop }

    private func worker(for key: some Hashable) -> Int {
        Int(UInt(bitPattern: key.hashValue) % UInt(threads.count))
    }

    private func perform(_ piece: Workload.Piece, _ block: @escaping @Sendable () -> Void) -> Bool {
        // A reply is given in every case, also when the block is refused: so the piece is finished in every case too.
        let reply = Reply(block, .ofThread(name)) { [workload] (_: Result<Void, any Error>) in workload.finish(piece) }
        return threads[piece.worker].perform(reply.makeBlock())
    }

    private nonisolated(nonsending) func run<Value: Sendable>(
        _ piece: Workload.Piece, _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let (promise, takeBack) = Reply.enter(
            block, orThrowing: .ofThread(name), whenAnswered: { [workload] in workload.finish(piece) },
            post: { threads[piece.worker].perform($0) })
        return try await promise.value(orTakingBack: takeBack)
    }

    /// How many pieces each worker has that were accepted and are not finished, in the order of the threads' numbers: a
    /// look at who is stuck.
    public var unfinished: [Int] { workload.unfinished }

    // MARK: Waiting

    /// Suspends until everything that the pool has accepted so far is finished: has run, was cancelled, or was dropped
    /// by `stop(discardingPending:)`. What is accepted after the call is not waited for. Refuses nothing and stops nothing;
    /// may also follow a stop. A stuck worker is waited for.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before that.
    public nonisolated(nonsending) func drain() async throws {
        let promise = Promise<Void>()
        let drain = workload.whenFinished { promise.fulfil(.success(())) }
        try await promise.value { [workload] in
            if workload.giveUp(drain: drain) { promise.fulfil(.failure(CancellationError())) }
        }
    }

    /// As `drain()`, but keeps the calling thread waiting.
    ///
    /// - Precondition: Not called on one of the pool's threads, which might wait for itself for ever; traps there and
    ///   says so.
    public func drainAndWait() {
        requireForeignThread("drainAndWait()")
        let waiter = Waiter<Void>()
        _ = workload.whenFinished { waiter.fulfil(.success(())) }
        // Never fails: nobody else knows of this drain.
        try? waiter.wait()
    }

    // MARK: The end

    /// Ends the threads after they have run what was accepted. From now on work is refused. Does not wait: see
    /// `join()`. A later call does nothing.
    public func stop() { stop(discardingPending: false) }

    /// Ends each thread after the block that is running on it now, if any. Blocks that have not begun are dropped: those
    /// who wait for one get `LoopThread.Stopped` thrown. May follow a `stop()` that takes too long.
    ///
    /// - Parameter discardingPending: `false` makes it an ordinary `stop()`.
    public func stop(discardingPending: Bool) {
        for thread in threads { thread.stop(discardingPending: discardingPending) }
    }

    /// Waits until all threads have ended, as `LoopThread.join()` does. Does not stop them. A stuck worker is waited for.
    ///
    /// - Precondition: Not called on one of the pool's threads, which would wait for ever; traps there and says so.
    public func join() {
        requireForeignThread("join()")
        for thread in threads { thread.join() }
    }

    private func requireForeignThread(_ call: String) {
        guard let own = threads.first(where: { $0.isCurrent }) else { return }
        fatalError(
            "RunLoopKit: LoopThreadPool.\(call) was called on the pool's own thread \"\(own.name)\", which would wait for itself for ever. "
                + "Call it from outside.")
    }
}
