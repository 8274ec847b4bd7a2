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
        if !(endlessRingsOnly && wait.hasLimit) {
            var search = Search(caller: caller, endlessOnly: endlessRingsOnly)
            if case .found(let ring) = path(from: wait.awaited, &search) {
                lock.unlock()
                throw LoopThread.WaitRing(threads: ring)
            }
        }
        waits[caller] = wait
        lock.unlock()
        // A thread that is blocked waits for nothing else meanwhile.
        defer { lock.withLock { _ = waits.removeValue(forKey: caller) } }
        try body()
    }

    /// Whether a thread waits.
    func isWaiting(_ thread: ThreadID) -> Bool { lock.withLock { waits[thread] != nil } }

    /// A search in depth for threads that wait for `caller`, directly or not.
    private struct Search {
        let caller: ThreadID
        /// Whether threads that wait with a time limit count as not waiting.
        let endlessOnly: Bool
        /// The threads from which the search has begun and not ended, with their places: 0 for the first.
        var path: [ThreadID: Int] = [:]
        /// The threads that do not wait for the caller.
        var failed: Set<ThreadID> = []
    }

    /// What a search finds.
    private enum Finding {
        /// The names of the threads from this one to the caller.
        case found([String])
        /// It waits for threads of the path, of which the first has this place: it goes on only if they do.
        case ofPath(Int)
        /// It can go on without the caller.
        case failed
    }

    private func path(from awaited: Awaited, _ search: inout Search) -> Finding {
        lock.assertHeld()
        switch awaited {
        case .thread(let target): return path(from: target, &search)
        case .threads(let targets):
            let (all, any) = targets()
            var place = Int.max
            for target in all {
                switch path(from: target, &search) {
                case .found(let names): return .found(names)
                case .ofPath(let other): place = min(place, other)
                case .failed: break
                }
            }
            // Only if each of them waits for the caller, or for a thread of the path, which then waits for it too.
            var (first, placeOfAny) = ([String]?.none, place)
            for target in any {
                switch path(from: target, &search) {
                case .found(let names): first = first ?? names
                case .ofPath(let other): placeOfAny = min(placeOfAny, other)
                case .failed: return place < .max ? .ofPath(place) : .failed
                }
            }
            if let first { return .found(first) }
            return placeOfAny < .max ? .ofPath(placeOfAny) : .failed
        }
    }

    private func path(from target: Target, _ search: inout Search) -> Finding {
        let thread = target.thread
        if thread == search.caller { return .found([target.name]) }
        if let place = search.path[thread] { return .ofPath(place) }
        guard !search.failed.contains(thread), let next = waits[thread], !search.endlessOnly || !next.hasLimit else {
            return .failed
        }
        let own = search.path.count
        search.path[thread] = own
        let finding = path(from: next.awaited, &search)
        search.path[thread] = nil
        switch finding {
        case .found(let names): return .found([target.name] + names)
        // A ring of other threads, in which one has a time limit, is none of the caller's.
        case .ofPath(let place) where place < own: return .ofPath(place)
        case .ofPath, .failed:
            search.failed.insert(thread)
            return .failed
        }
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
