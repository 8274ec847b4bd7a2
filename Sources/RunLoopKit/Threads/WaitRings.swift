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

    private let lock = Lock(.threadWaits)
    /// What each blocked thread waits for, asked anew for each search: the work of a pool finishes piece by piece.
    private var targets: [ThreadID: () -> [Target]] = [:]

    /// Records that the calling thread waits for all threads that `awaited` returns during `body`.
    ///
    /// - Throws: ``LoopThread/WaitRing`` if one of them waits, directly or not, for the calling thread. `body` is not
    ///   called then.
    func waiting<Value>(for awaited: @escaping () -> [Target], _ body: () throws -> Value) throws -> Value {
        let caller = ThreadLoops.currentID
        let ring = lock.withLock { () -> [String]? in
            if let ring = path(from: awaited(), to: caller) { return ring }
            targets[caller] = awaited
            return nil
        }
        if let ring { throw LoopThread.WaitRing(threads: ring) }
        // A thread that is blocked waits for nothing else meanwhile.
        defer { lock.withLock { _ = targets.removeValue(forKey: caller) } }
        return try body()
    }

    /// Whether a thread waits.
    func isWaiting(_ thread: ThreadID) -> Bool { lock.withLock { targets[thread] != nil } }

    /// The same for calls that throw no error: traps if there is a ring.
    func waitingOrTrapping(_ call: String, for awaited: @escaping () -> [Target], _ body: () -> Void) {
        do { try waiting(for: awaited, body) } catch { fatalError("RunLoopKit: \(call): \(error)") }
    }

    /// The names of the threads from one of `awaited` to the thread that waits for `caller`, and the caller's own name;
    /// nil if no thread of them waits for it. A search in depth.
    private func path(from awaited: [Target], to caller: ThreadID) -> [String]? {
        lock.assertHeld()
        for target in awaited {
            if target.thread == caller { return [target.name] }
            if let rest = path(from: targets[target.thread]?() ?? [], to: caller) { return [target.name] + rest }
        }
        return nil
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
