#if DEBUG
    import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Where a program plays in its child: what has happened, and what must be gone in the end.
    ///
    /// It waits by a condition of pthread's, which makes no call of the library's.
    final class Stage: @unchecked Sendable {
        /// A program has ended before what it waits for: with the error that it was told.
        struct Over: Error {}

        let plan: Faults
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        private var counts: [String: Int] = [:]
        private var expected: [String: Int] = [:]
        private var tracked: [(name: String, isGone: () -> Bool)] = []
        private(set) var answers: [String] = []
        private var hasFailed = false
        private var isAfterwards = false

        init(_ plan: Faults) {
            self.plan = plan
            pthread_mutex_init(mutex, nil)
            pthread_cond_init(changed, nil)
        }

        func locked<Value>(_ body: () throws -> Value) rethrows -> Value {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body()
        }

        // MARK: What happens

        /// A handler was called.
        func note(_ what: String) {
            locked { counts[what, default: 0] += 1 }
            pthread_cond_broadcast(changed)
        }

        /// Several things at once, each of which counts once only.
        func noteAll(_ names: [String]) {
            locked { for name in names { counts[name] = max(1, counts[name, default: 0]) } }
            pthread_cond_broadcast(changed)
        }

        func countOf(_ what: String) -> Int { counts[what, default: 0] }

        /// Waits until a handler was called so often.
        func wait(for what: String, _ count: Int = 1) throws {
            try locked {
                expected[what] = count
                while counts[what, default: 0] < count {
                    if hasFailed { throw Over() }
                    pthread_cond_wait(changed, mutex)
                }
            }
        }

        /// An error that a handler was told of: what the program waits for does not come.
        func fail(_ error: LoopError) {
            answer(error)
            locked { hasFailed = !isAfterwards }
            pthread_cond_broadcast(changed)
        }

        func answer(_ error: any Error) {
            if error is Over { return }
            let text = (error as? LoopError).map { "\($0.errno) \($0)" } ?? "0 \(error)"
            locked { answers.append(text) }
        }

        /// Something that the program was answered instead of an error, which documents say.
        func answer(_ text: String) { locked { answers.append("- \(text)") } }

        // MARK: What must be gone

        /// The item must be deallocated in the end.
        func track<Object: AnyObject>(_ object: Object) -> Object {
            weak let weakly = object
            let name = "\(type(of: object))"
            locked { tracked.append((name, { weakly == nil })) }
            return object
        }

        var complaints: [String] {
            let tooOften = expected.filter { counts[$0.key, default: 0] > $0.value }.map { "\($0.key) came too often" }
            let missing =
                answers.isEmpty
                ? expected.filter { counts[$0.key, default: 0] < $0.value }.map { "\($0.key) is missing" } : []
            return tooOften + missing + tracked.filter { !$0.isGone() }.map { "\($0.name) was not deallocated" }
        }

        // MARK: Programs

        /// Plays `body` with the plan armed on the calling thread, and keeps the error that it throws.
        func armed(_ body: () throws -> Void) {
            do { try plan.whileArmed(body) } catch { answer(error) }
        }

        /// Plays `body` with the plan armed here and on the thread of a loop, and uses that loop afterwards.
        func withThread(clock: VirtualClock? = nil, _ body: (LoopThread) throws -> Void) throws {
            let thread = try LoopThread(name: "stage", clock: clock)
            try thread.performAndWait { [plan] in plan.arm() }
            armed { try body(thread) }
            plan.end()
            try use(thread)
            thread.stop()
            thread.join()
        }

        /// A block, a timer, a port and a descriptor are served.
        func use(_ thread: LoopThread) throws {
            locked { (hasFailed, isAfterwards) = (false, true) }
            try thread.performAndWait {}
            thread.perform(after: .milliseconds(1)) { [self] in note("timer afterwards") }
            let port = try Loop.PortSource { [self] _ in note("port afterwards") }
            var ends: (Int32, Int32) = (-1, -1)
            withUnsafeMutableBytes(of: &ends) { _ = pipe($0.assumingMemoryBound(to: Int32.self).baseAddress!) }
            defer { for end in [ends.0, ends.1] { close(end) } }
            let source = try Loop.FileDescriptorSource(ends.0) { [self] source, _ in
                var byte: UInt8 = 0
                _ = read(source.descriptor, &byte, 1)
                note("descriptor afterwards")
            }
            for item in [port, source] { thread.loop.add(item, in: .default) }
            port.send()
            _ = write(ends.1, "x", 1)
            for what in ["timer", "port", "descriptor"] { try wait(for: "\(what) afterwards") }
            port.invalidate()
            source.invalidate()
        }
    }

    /// A small program, with one habit of the library's users.
    struct Scene: Sendable {
        let name: String
        let play: @Sendable (Stage) throws -> Void

        init(_ name: String, _ play: @escaping @Sendable (Stage) throws -> Void) {
            (self.name, self.play) = (name, play)
        }
    }

    /// The open descriptors of this process.
    func openDescriptors() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return -1 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count - 3  // ".", ".." and the folder's own.
    }
#endif
