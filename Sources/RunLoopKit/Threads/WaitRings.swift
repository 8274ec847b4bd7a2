/// The threads that block until other threads answer, which would wait for ever if they formed a ring.
///
/// A thread enters before it blocks, and all entries are made under one lock: of the threads of a ring, the last one
/// finds it. A forked child does not wait for threads of its parent's, and so does not enter.
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
        /// Asked anew for each search: the work of a pool finishes piece by piece.
        case threads(() -> [Target])
    }

    private let lock = Lock(.threadWaits)
    /// What each blocked thread waits for. Guarded by the lock, and therefore without checks of exclusivity.
    @exclusivity(unchecked) private var awaited: [ThreadID: Awaited] = [:]

    /// Records that the calling thread waits for the threads of `awaited` during `body`.
    ///
    /// - Throws: ``LoopThread/WaitRing`` if one of them waits, directly or not, for the calling thread. `body` is not
    ///   called then.
    func waiting(for awaited: Awaited, _ body: () throws -> Void) throws {
        let caller = ThreadLoops.currentID
        lock.lock()
        if let ring = path(from: awaited, to: caller) {
            lock.unlock()
            throw LoopThread.WaitRing(threads: ring)
        }
        self.awaited[caller] = awaited
        lock.unlock()
        // A thread that is blocked waits for nothing else meanwhile.
        defer { lock.withLock { _ = self.awaited.removeValue(forKey: caller) } }
        try body()
    }

    /// Whether a thread waits.
    func isWaiting(_ thread: ThreadID) -> Bool { lock.withLock { awaited[thread] != nil } }

    /// The same for calls that throw no error: traps if there is a ring.
    func waitingOrTrapping(_ call: String, for awaited: Awaited, _ body: () -> Void) {
        do { try waiting(for: awaited, body) } catch { fatalError("RunLoopKit: \(call): \(error)") }
    }

    /// The names of the threads from one of `awaited` to the thread that waits for `caller`, and the caller's own name;
    /// nil if no thread of them waits for it. A search in depth.
    private func path(from awaited: Awaited, to caller: ThreadID) -> [String]? {
        lock.assertHeld()
        switch awaited {
        case .thread(let target): return path(from: target, to: caller)
        case .threads(let targets): return targets().lazy.compactMap { self.path(from: $0, to: caller) }.first
        }
    }

    private func path(from target: Target, to caller: ThreadID) -> [String]? {
        if target.thread == caller { return [target.name] }
        guard let next = awaited[target.thread], let rest = path(from: next, to: caller) else { return nil }
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
            let names = threads.map { "\"\($0)\"" }
            return "the threads \((names.suffix(1) + names).joined(separator: " → ")) would wait for each other for "
                + "ever: let one of them hand its work over with perform(in:_:), or await run(in:_:), instead"
        }
    }

    var waitTarget: WaitRings.Target { WaitRings.Target(thread: loop.owner, name: name) }
}
