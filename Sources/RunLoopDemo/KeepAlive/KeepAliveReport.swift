import RunLoopKit

/// The results of a `KeepAliveStory`. A result that an interruption prevented is nil, or less than `jobs`.
struct KeepAliveReport {
    let jobs: Int
    let before: KernelCounts
    var after: KernelCounts

    /// Jobs that ran in both ways: in a burst and one by one.
    var done = 0
    var isInOrder = true
    var distinctThreads = 0

    /// The loop's work while there was nothing to do.
    var whileIdle: Loop.Counters?

    /// Without waiting.
    var timePerJobInBurst: Duration?

    /// With a wait for each job.
    var timePerJob: Duration?
    var timePerJobThreadEach: Duration?

    init(jobs: Int, before: KernelCounts) {
        self.jobs = jobs
        self.before = before
        after = before
    }

    /// For programs.
    var json: String {
        var line = JSONLine()
        line.add("jobs", Int64(jobs))
        line.add("done", Int64(done))
        line.add("inOrder", isInOrder)
        line.add("distinctThreads", Int64(distinctThreads))
        line.add("nsPerJob", timePerJob)
        line.add("nsPerJobInBurst", timePerJobInBurst)
        line.add("nsPerJobThreadEach", timePerJobThreadEach)
        line.add("passesWhileIdle", whileIdle?.passes)
        line.add("waitsWhileIdle", whileIdle?.waits)
        line.add(before, after)
        return line.text
    }

    /// For people, below the story.
    var table: String {
        guard let timePerJobInBurst, let timePerJob, let timePerJobThreadEach else {
            return "\nInterrupted: \(done) of \(jobs.counted("job")) done both ways.\n"
        }
        let rows = [
            ("a thread for each job, waited for", timePerJobThreadEach),
            ("one LoopThread, each job waited for", timePerJob),
            ("one LoopThread, all jobs in a burst", timePerJobInBurst),
        ]
        return "\n  \("".padded(to: 36)) ns per job    faster\n"
            + rows.map { row($0.0, $0.1, timePerJobThreadEach) }.joined()
    }

    private func row(_ name: String, _ time: Duration, _ reference: Duration) -> String {
        let ratio = reference / max(time, .nanoseconds(1))
        return "  \(name.padded(to: 36)) \(column(time.inWholeNanoseconds))\(column("× " + tenths(ratio)))\n"
    }

    private func column(_ text: String) -> String { text.rightAligned(to: 10) }

    private func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension Duration {
    /// Nanoseconds for people, such as `12 345`.
    var inWholeNanoseconds: String { Int(inNanoseconds).grouped }
}

extension JSONLine {
    /// The counts of a process before something began and after it ended.
    mutating func add(_ before: KernelCounts, _ after: KernelCounts) {
        add("threadsBefore", Int64(before.threads))
        add("threadsAfter", Int64(after.threads))
        add("descriptorsBefore", Int64(before.descriptors))
        add("descriptorsAfter", Int64(after.descriptors))
    }

    fileprivate mutating func add(_ key: String, _ nanoseconds: Duration?) {
        if let nanoseconds { add(key, nanoseconds.inNanoseconds) } else { addNull(key) }
    }

    fileprivate mutating func add(_ key: String, _ number: Int?) {
        if let number { add(key, Int64(number)) } else { addNull(key) }
    }
}
