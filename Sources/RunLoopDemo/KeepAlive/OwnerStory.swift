import RunLoopKit

/// A thread ends when the object that owns it is deallocated: no code has to stop it.
struct OwnerStory {
    private static let ticks = 3

    /// The most time that an expected event may take. It takes milliseconds unless there are very many jobs.
    private static let patience = Duration.seconds(30)

    let jobs: Int
    let stage: Stage
    let log: StoryLog

    /// - Throws: An error if threads or descriptors cannot be made or counted.
    func tell() throws -> OwnerReport {
        log.begin("A thread ends with its owner, after it has done what it had accepted.")
        let before = try KernelCounts.now()
        log.say("before", "\(before) in this process")

        let jobLog = JobLog()
        let (isFreed, loop) = try live(jobLog)
        // No object is left that could report the thread's end, but the kernel does.
        let hasEnded = try poll(for: OwnerStory.patience) { try KernelCounts.now().threads <= before.threads }
        let after = try KernelCounts.settled(expecting: before)
        log.say("after", after == before ? "\(after), as before" : "\(after)")
        let isRefused = loop.performCancellable {} == nil
        log.say("loop", isRefused ? "refuses more work" : "still accepts work, by mistake")
        // Only a thread that has ended no longer accesses the job log.
        let done = hasEnded && isRefused ? jobLog.done : 0
        log.say("jobs", "\(done) of \(jobs.counted("job")) done\(done == jobs ? ": what is accepted is not lost" : "")")
        return OwnerReport(
            isOwnerFreed: isFreed, hasThreadEnded: hasEnded && isRefused, jobs: jobs, done: done, before: before,
            after: after)
    }

    /// The owner's life. Returns whether the owner was deallocated, and its thread's loop.
    private func live(_ jobLog: JobLog) throws -> (isFreed: Bool, Loop) {
        var owner: Owner? = try Owner(log)
        weak let remains = owner
        let loop = owner!.thread.loop
        owner!.tick(times: OwnerStory.ticks) { [stage] in stage.proceed() }
        stage.wait()
        owner!.work(jobs, jobLog)
        // The story drops the thread with a timer on purpose, which the library would report.
        Loop.mistakeHandling = .ignore
        log.say("dropped", "the last reference to the owner; no code calls stop()")
        owner = nil
        // A tick that is being handled retains the owner until it returns.
        let isFreed = poll(for: OwnerStory.patience) { remains == nil }
        log.say("owner freed", isFreed ? "a weak reference to it is nil" : "a weak reference to it still finds it")
        return (isFreed, loop)
    }
}

/// An object with a thread of its own, as an app would have for its database or its device.
private final class Owner: Sendable {
    let thread: LoopThread
    private let log: StoryLog

    init(_ log: StoryLog) throws {
        self.log = log
        thread = try LoopThread(name: "owned")
        log.say("owner made", "and its thread started: \(try KernelCounts.now())")
        thread.perform { log.say("first job", "on thread \(KernelThread.current)") }
        // Every item leaves the thread's loop when the thread ends.
        let witness = Loop.Source0(
            cancel: { _, _ in log.say("thread stops", "sources, timers and observers leave its loop") }, perform: {})
        witness.label = "witness"
        thread.loop.add(witness, in: .default)
    }

    deinit { log.say("deinit", "the owner is freed, and with it the last reference to its LoopThread") }

    /// Calls `enough` after some ticks of a timer that continues.
    func tick(times: Int, enough: @escaping @Sendable () -> Void) {
        let count = LoopBound(0, on: thread.loop)
        // Weakly: the loop retains the timer, and a timer that retained the owner would keep both and the thread alive.
        let timer = Loop.Timer(every: .milliseconds(20)) { [weak self] _ in
            count.value += 1
            self?.log.say("tick", "\(count.value), by a timer that refers to the owner weakly")
            if count.value == times { enough() }
        }
        timer.label = "tick"
        thread.loop.add(timer, in: .default)
    }

    /// Hands over jobs that do not need the owner.
    func work(_ jobs: Int, _ jobLog: JobLog) {
        for number in 0..<jobs where !Interruption.isRequested {
            thread.perform { jobLog.note(number) }
        }
        log.say("posted", "\(jobs.counted("job")), which do not need the owner")
    }
}

/// The results of an `OwnerStory`.
struct OwnerReport {
    /// Whether the owner was deallocated.
    let isOwnerFreed: Bool

    /// Whether the kernel no longer lists the thread, and its loop refuses work.
    let hasThreadEnded: Bool
    let jobs: Int
    let done: Int
    let before: KernelCounts
    let after: KernelCounts

    var json: String {
        var line = JSONLine()
        line.add("ownerGone", isOwnerFreed)
        line.add("threadEnded", hasThreadEnded)
        line.add("jobs", Int64(jobs))
        line.add("done", Int64(done))
        line.add(before, after)
        return line.text
    }
}
