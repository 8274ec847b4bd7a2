/// The numbered parts of one piece of work, which a pool's workers share: each takes the next part when it has finished
/// one. The caller waits for `promise`.
///
/// | the work is | when |
/// |---|---|
/// | done | every part has ended |
/// | given up | a part has failed, the caller is cancelled, or no worker is left: no further part begins |
///
/// In both cases the promise is fulfilled once no part runs. The caller does not wait for a worker that is stuck in
/// other work, since that has taken no part.
final class SharedParts: @unchecked Sendable {
    let count: Int
    let promise = Promise<Void>()
    private let lock = Lock(.leaf)

    // Guarded by `lock`, and therefore without checks of exclusivity.
    /// Nil once there is a result: a worker that is stuck in other work comes to its turn later, and keeps this object
    /// until then.
    @exclusivity(unchecked) private var work: (@Sendable (Int) throws -> Void)?
    /// The first part that no worker has taken.
    @exclusivity(unchecked) private var next = 0
    /// The parts that have begun, and have not ended.
    @exclusivity(unchecked) private var running = 0
    /// The workers that may still take a part.
    @exclusivity(unchecked) private var workers: Int
    /// Why the work was given up.
    @exclusivity(unchecked) private var failure: (any Error)?

    /// - Parameter work: Called with the number of each part.
    init(_ count: Int, workers: Int, _ work: @escaping @Sendable (Int) throws -> Void) {
        (self.count, self.workers, self.work) = (count, workers, work)
    }

    /// Gives up the work, unless it is given up already.
    func giveUp(for error: any Error) { change { if failure == nil { failure = error } } }

    private func change(_ body: () -> Void) {
        let (result, released) = lock.withLock { () -> (Result<Void, any Error>?, Any?) in
            body()
            guard running == 0 else { return (nil, nil) }
            if let failure { return (.failure(failure), work.take()) }
            return next == count ? (.success(()), work.take()) : (nil, nil)
        }
        // Before the answer: what it has captured may belong to the caller.
        _ = consume released
        if let result { promise.fulfil(result) }
    }

    /// A worker's turn: it takes one part.
    final class Turn: @unchecked Sendable {
        private let parts: SharedParts
        /// Whether a part was taken. Accessed by the worker's thread, and by the one that drops the turn.
        @exclusivity(unchecked) private var hasPart = false

        init(of parts: SharedParts) { self.parts = parts }

        /// Does a part, if one is left.
        func take() throws {
            let taken = parts.lock.withLock { () -> (Int, @Sendable (Int) throws -> Void)? in
                guard parts.failure == nil, parts.next < parts.count, let work = parts.work else { return nil }
                parts.running += 1
                defer { parts.next += 1 }
                return (parts.next, work)
            }
            guard let (part, work) = taken else { return }
            hasPart = true
            try work(part)
        }

        /// Ends the turn.
        ///
        /// - Parameter error: What the part has thrown, or why the turn does not return.
        /// - Returns: Whether the worker has another turn.
        func end(_ error: (any Error)?) -> Bool {
            var goesOn = false
            parts.change {
                if hasPart {
                    parts.running -= 1
                    parts.failure = parts.failure ?? error
                    goesOn = parts.failure == nil && parts.next < parts.count
                }
                if goesOn { return }
                parts.workers -= 1
                // Otherwise the other workers do what is left.
                if parts.workers == 0, parts.next < parts.count { parts.failure = parts.failure ?? error }
            }
            return goesOn
        }
    }
}

/// The turns of one worker, one after the other. Each is a piece of the pool's work.
private final class WorkerTurns: Sendable {
    private let parts: SharedParts
    // Not the thread, which would keep itself alive.
    private let loop: Loop
    private let workload: Workload
    private let place: Place
    private let errors: Reply.Errors

    init(of parts: SharedParts, on loop: Loop, _ workload: Workload, _ place: Place, _ errors: Reply.Errors) {
        (self.parts, self.loop, self.workload, self.place, self.errors) = (parts, loop, workload, place, errors)
    }

    func begin(_ piece: Workload.Piece) {
        let turn = SharedParts.Turn(of: parts)
        let reply = Reply({ try turn.take() }, errors) { [self] error in
            workload.finish(piece)
            if turn.end(error) { begin(workload.begin(on: piece.worker)) }
        }
        if loop.performAwaited(in: .common, place, reply.makeBlock()) == nil { workload.noteEnd(of: piece.worker) }
    }
}

extension LoopThreadPool {
    /// Calls a function with each element on the pool's workers, and returns the results in the order of the elements.
    ///
    /// ```swift
    /// let pool = try LoopThreadPool(count: 4)
    /// let lengths = try await pool.map(["one", "three"]) { text in text.utf8.count }
    /// print(lengths)  // [3, 5]
    /// ```
    ///
    /// Each worker takes the next element when it has finished one. So neither an element that takes long nor a worker
    /// that is stuck in other work delays the other elements. Between two elements a worker's loop comes around: it
    /// serves its timers and sources, and other work of the pool.
    ///
    /// - *An error* is thrown once the elements that have begun are finished. No other one begins. Of several errors
    ///   the first counts.
    /// - *Cancelled,* the call throws `CancellationError` in the same way. The function runs in no task, and so cannot
    ///   ask: there `Task.isCancelled` is false.
    /// - *A pool that is stopped* meanwhile finishes the elements that have begun. If others are left, the call throws
    ///   ``LoopThread/Stopped``. ``drain()`` does not wait for elements that have not begun.
    /// - *On a thread of the pool* it may be called, since it does not block.
    ///
    /// Cocoa: `DispatchQueue.concurrentPerform`. Python: `Executor.map`; Rayon: `par_iter().map()`.
    ///
    /// - Parameters:
    ///   - elements: What the function is called with, each once.
    ///   - label: What diagnostics call the blocks of the workers; nil to call them by the place of this call.
    ///   - file: The source file of the call, for diagnostics.
    ///   - line: The line in that file.
    ///   - transform: Called on the workers' threads, on several at the same time.
    /// - Throws: What the function throws; ``LoopThread/Stopped``; ``LoopThread/Exited`` if a worker's thread exits in
    ///   the function; `CancellationError`.
    public nonisolated(nonsending) func map<Element: Sendable, Value: Sendable>(
        _ elements: [Element], label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        _ transform: @escaping @Sendable (Element) throws -> Value
    ) async throws -> [Value] {
        try await map(elements, atMost: .max, label: label, file: file, line: line, transform)
    }

    /// Calls a function with each element, as ``map(_:label:file:line:_:)`` does, on no more than so many of the pool's
    /// workers at the same time. So the others are free for other work, or what the function uses is not overrun.
    ///
    /// ```swift
    /// let pages = try await pool.map(["/a", "/b", "/c"], atMost: 2) { path in path.utf8.count }
    /// ```
    ///
    /// The workers are chosen at the call: those with the fewest pieces, or the next in turn. Rayon: a smaller pool;
    /// Go: `errgroup.SetLimit`.
    ///
    /// - Parameters:
    ///   - elements: What the function is called with, each once.
    ///   - limit: How many elements may be under way at the same time. Less than 1 counts as 1; the pool's
    ///     ``count`` is the largest that has an effect.
    ///   - label: What diagnostics call the blocks of the workers; nil to call them by the place of this call.
    ///   - file: The source file of the call, for diagnostics.
    ///   - line: The line in that file.
    ///   - transform: Called on the workers' threads.
    /// - Throws: As ``map(_:label:file:line:_:)``.
    public nonisolated(nonsending) func map<Element: Sendable, Value: Sendable>(
        _ elements: [Element], atMost limit: Int, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, _ transform: @escaping @Sendable (Element) throws -> Value
    ) async throws -> [Value] {
        try Task.checkCancellation()
        // Each part writes its own, before the promise is fulfilled.
        nonisolated(unsafe) let results = UnsafeMutableBufferPointer<Value?>.allocate(capacity: elements.count)
        results.initialize(repeating: nil)
        defer {
            results.deinitialize()
            results.deallocate()
        }
        try await share(elements.count, Place(label, file, line), atMost: limit) {
            results[$0] = try transform(elements[$0])
        }
        return results.map { $0! }
    }

    private nonisolated(nonsending) func share(
        _ count: Int, _ place: Place, atMost limit: Int, _ work: @escaping @Sendable (Int) throws -> Void
    ) async throws {
        guard count > 0 else { return }
        guard hasThreads else { throw LoopThread.Stopped(thread: name) }
        let workers = min(count, self.count, max(1, limit))
        let parts = SharedParts(count, workers: workers, work)
        for piece in workload.beginOnDifferentWorkers(workers) {
            WorkerTurns(of: parts, on: threads[piece.worker].loop, workload, place, .ofThread(name)).begin(piece)
        }
        try await parts.promise.value { parts.giveUp(for: CancellationError()) }
        // A pool without a reference stops.
        withExtendedLifetime(self) {}
    }
}
