// Validates a thread's options, and sets them.

extension LoopThread.Options {
    /// Throws for a value that is never valid. The kernel would silently ignore some of them.
    func validate() throws(LoopError) {
        if let stackSize, stackSize < 0 {
            throw invalid("pthread_attr_setstacksize(\(stackSize))", "a stack's size is not negative")
        }
        if let nice, !(-20...19).contains(nice) {
            throw invalid("setpriority(\(nice))", "nice values go from -20 to 19")
        }
        if let cpus, cpus.isEmpty || cpus.contains(where: { $0 < 0 }) {
            throw invalid("sched_setaffinity(\(list(cpus)))", "name at least one CPU; their numbers begin at 0")
        }
        if let scheduling, let priority = scheduling.priority, !(1...99).contains(priority) {
            throw invalid("sched_setscheduler(\(scheduling))", "priorities go from 1 to 99")
        }
        if let timerSlack, timerSlack < .zero {
            throw invalid("prctl(PR_SET_TIMERSLACK, \(timerSlack))", "a timer slack is not negative")
        }
    }

    /// Whether there are options that the kernel can refuse to the thread once it runs.
    var mayBeRefused: Bool { cpus != nil || scheduling != nil || nice != nil || timerSlack != nil }

    /// Sets the options for the calling thread, and returns those that the kernel refused.
    func apply() -> [LoopError] {
        // The kernel accepts every name, and the stack exists already.
        System.nameThread(name)
        return [cpus.flatMap(tie), scheduling.flatMap(schedule), nice.flatMap(beNice), timerSlack.flatMap(allowSlack)]
            .compactMap(\.self)
    }

    // MARK: One by one. Each returns its refusal.

    private func tie(to cpus: Set<Int>) -> LoopError? {
        // A bit for each CPU: a kernel is configured for 8192 at most.
        let words = 8192 / UInt.bitWidth
        var mask = [UInt](repeating: 0, count: words)
        for cpu in cpus where cpu < 8192 { mask[cpu / UInt.bitWidth] |= 1 << UInt(cpu % UInt.bitWidth) }
        let call = "sched_setaffinity(\(list(cpus)))"
        let advice = "see Cpus_allowed_list in /proc/self/status for those that can be had"
        guard System.setAffinity(mask) else { return LoopError(call: call, advice: advice) }
        // The kernel reports no error if it has only some of them.
        do throws(LoopError) {
            let granted = try System.affinity(words: words).reduce(0) { $0 + $1.nonzeroBitCount }
            return granted == cpus.count ? nil : LoopError(call: call, code: System.invalidArgument, advice: advice)
        } catch {
            return error
        }
    }

    private func schedule(_ scheduling: LoopThread.Scheduling) -> LoopError? {
        // The kernel requires the priority 0 of policies that have none.
        guard !System.setScheduling(scheduling.policy, priority: Int32(scheduling.priority ?? 0)) else { return nil }
        let limit = scheduling.priority.map { "RLIMIT_RTPRIO of \($0) or more" } ?? "RLIMIT_NICE"
        return LoopError(call: "sched_setscheduler(\(scheduling))", advice: "it takes CAP_SYS_NICE, or \(limit)")
    }

    private func beNice(_ nice: Int) -> LoopError? {
        guard !System.setNice(Int32(nice)) else { return nil }
        return LoopError(
            call: "setpriority(\(nice))", advice: "it takes CAP_SYS_NICE, or RLIMIT_NICE of \(20 - nice) or more")
    }

    private func allowSlack(_ slack: Duration) -> LoopError? {
        // Zero means the default to the kernel.
        let nanoseconds = max(slack.wholeNanoseconds, 1)
        return System.setTimerSlack(nanoseconds) ? nil : LoopError(call: "prctl(PR_SET_TIMERSLACK, \(nanoseconds))")
    }

    private func invalid(_ call: String, _ advice: String) -> LoopError {
        LoopError(call: call, code: System.invalidArgument, advice: advice)
    }

    private func list(_ cpus: Set<Int>) -> String {
        cpus.isEmpty ? "no CPU" : "CPU " + cpus.sorted().map(String.init).joined(separator: ", ")
    }
}

extension LoopThread.Scheduling: CustomStringConvertible {
    /// The kernel's name of the policy, and the priority where there is one: `SCHED_FIFO, 10`.
    public var description: String {
        switch self {
        case .normal: "SCHED_OTHER"
        case .batch: "SCHED_BATCH"
        case .idle: "SCHED_IDLE"
        case .fifo(let priority): "SCHED_FIFO, \(priority)"
        case .roundRobin(let priority): "SCHED_RR, \(priority)"
        }
    }

    fileprivate var policy: System.SchedulingPolicy {
        switch self {
        case .normal: .other
        case .batch: .batch
        case .idle: .idle
        case .fifo: .fifo
        case .roundRobin: .roundRobin
        }
    }

    /// Nil for the policies that have none.
    fileprivate var priority: Int? {
        switch self {
        case .normal, .batch, .idle: nil
        case .fifo(let priority), .roundRobin(let priority): priority
        }
    }
}
