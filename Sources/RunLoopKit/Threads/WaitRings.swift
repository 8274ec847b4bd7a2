/// The threads that block until other threads answer. If they formed a ring, they would wait for ever.
///
/// A ring in which one thread waits with a time limit ends by itself. A call that throws reports it nevertheless, at
/// once, since no thread of the ring can get its answer meanwhile. A call that would trap waits.
///
/// A thread enters before it blocks, and all entries are made under one lock: of the threads of a ring, the last one
/// finds it. A forked child does not wait for threads of its parent, and so does not enter.
final class WaitRings: @unchecked Sendable {
    private static let ofProcess = OnePerProcess { _ in WaitRings() }
    static var shared: WaitRings { ofProcess.object }

    /// A `LoopThread` that a thread waits for.
    struct Target {
        let thread: ThreadID
        let name: String
    }

    /// What a thread waits for.
    enum Awaited {
        case thread(Target)
        /// Asked again for each search: the work of a pool finishes piece by piece.
        ///
        /// - Returns: Threads of which each must answer, and threads of which any one must.
        case threads(() -> (all: [Target], any: [Target]))
    }

    private struct Wait {
        let awaited: Awaited
        let hasLimit: Bool
    }

    private let lock = Lock(.threadWaits)
    /// What each blocked thread waits for. Guarded by the lock, and therefore without checks of exclusivity.
    @exclusivity(unchecked) private var waits: [ThreadID: Wait] = [:]

    /// Records that the calling thread waits for the threads of `awaited` during `body`.
    ///
    /// - Parameter hasLimit: Whether it waits with a time limit.
    /// - Throws: ``LoopThread/WaitRing`` if one of them waits, directly or not, for the calling thread. `body` is not
    ///   called then.
    func waiting(for awaited: Awaited, hasLimit: Bool, _ body: () throws -> Void) throws {
        try waiting(Wait(awaited: awaited, hasLimit: hasLimit), endlessRingsOnly: false, body)
    }

    /// The same for calls that throw no error: traps if there is a ring that does not end.
    func waitingOrTrapping(_ call: String, for awaited: Awaited, hasLimit: Bool = false, _ body: () -> Void) {
        do {
            try waiting(Wait(awaited: awaited, hasLimit: hasLimit), endlessRingsOnly: true, body)
        } catch {
            fatalError("RunLoopKit: \(call): \(error)")
        }
    }

    private func waiting(_ wait: Wait, endlessRingsOnly: Bool, _ body: () throws -> Void) throws {
        let caller = ThreadLoops.currentID
        lock.lock()
        var visited: Set<ThreadID> = []
        let endsByItself = endlessRingsOnly && wait.hasLimit
        if !endsByItself, let ring = path(from: wait.awaited, to: caller, endlessRingsOnly, &visited) {
            lock.unlock()
            throw LoopThread.WaitRing(threads: ring)
        }
        waits[caller] = wait
        lock.unlock()
        // A thread that is blocked waits for nothing else meanwhile.
        defer { lock.withLock { _ = waits.removeValue(forKey: caller) } }
        try body()
    }

    /// Whether a thread waits.
    func isWaiting(_ thread: ThreadID) -> Bool { lock.withLock { waits[thread] != nil } }

    /// The names of the threads from one of `awaited` to the thread that waits for `caller`, and the caller's own name;
    /// nil if none of them waits for it. A search in depth.
    ///
    /// - Parameter visited: The threads from which the search has begun already: other threads may form a ring in which
    ///   one has a time limit.
    private func path(
        from awaited: Awaited, to caller: ThreadID, _ endlessOnly: Bool, _ visited: inout Set<ThreadID>
    ) -> [String]? {
        lock.assertHeld()
        switch awaited {
        case .thread(let target): return path(from: target, to: caller, endlessOnly, &visited)
        case .threads(let targets):
            let (all, any) = targets()
            for target in all {
                if let found = path(from: target, to: caller, endlessOnly, &visited) { return found }
            }
            // Only if each of them waits for the caller. Two may do so by way of the same thread.
            var first: [String]?
            for target in any {
                var own = visited
                guard let found = path(from: target, to: caller, endlessOnly, &own) else { return nil }
                first = first ?? found
            }
            return first
        }
    }

    private func path(
        from target: Target, to caller: ThreadID, _ endlessOnly: Bool, _ visited: inout Set<ThreadID>
    ) -> [String]? {
        if target.thread == caller { return [target.name] }
        guard visited.insert(target.thread).inserted, let next = waits[target.thread],
            !endlessOnly || !next.hasLimit,
            let rest = path(from: next.awaited, to: caller, endlessOnly, &visited)
        else {
            return nil
        }
        return [target.name] + rest
    }
}

extension LoopThread {
    /// The error of a call that would wait for ever: the threads wait for each other in a ring.
    public struct WaitRing: Error, Equatable, Sendable, CustomStringConvertible {
        /// The names of the threads: each waits for the next, and the last one, which is the caller, for the first.
        public let threads: [String]

        /// For tests of callers that handle it.
        public init(threads: [String]) { self.threads = threads }

        /// The ring, and the way out.
        public var description: String {
            let names = threads.map { "\"\($0.printable)\"" }
            return "the threads \((names.suffix(1) + names).joined(separator: " → ")) would wait for each other for "
                + "ever: let one of them hand its work over with perform(in:_:), or await run(in:_:), instead"
        }
    }

    var waitTarget: WaitRings.Target { WaitRings.Target(thread: loop.owner, name: name) }
}
