import RunLoopKit

/// `RunLoopDemo keepalive`: a worker thread that stays alive, and what that saves.
struct KeepAliveCommand: Command {
    /// A million threads, one after the other, take about a minute: more would show nothing new.
    private static let jobs = 1...1_000_000

    let name = "keepalive"
    let summary = "Does many jobs on one thread that stays alive, and compares with a thread for each."
    let discussion = """
        The jobs are handed to one LoopThread in a burst, then, after a look at how little the idle thread does, once
        more one by one, each waited for. The thread is stopped and joined, and what the process has of the kernel is
        counted (/proc/self). Then the same jobs are done with a new thread for each.

        With '--owner' an object owns the thread. It hands over the jobs and its last reference is dropped: the thread
        does what it has accepted and ends too, without a call of stop().

        With '--format json' the outcome is one object: "jobs", "done" (how many were done both ways), "inOrder",
        "distinctThreads", "nsPerJob" (one by one), "nsPerJobInBurst" (these also ask the kernel for their thread),
        "nsPerJobThreadEach", "passesWhileIdle", "waitsWhileIdle", and "threadsBefore", "threadsAfter",
        "descriptorsBefore", "descriptorsAfter": before the LoopThread was started and after it was joined. What an
        interruption prevented from being measured is null. With '--owner': "ownerGone", "threadEnded", "jobs", "done"
        and the same counts.
        """
    let options: [Option] = [
        .value("jobs", "1...\(jobs.upperBound)", "How many jobs. Default: 1000."),
        .flag("owner", "Shows what happens to a thread whose owner is freed."),
        .format,
    ]

    func run(_ arguments: Arguments) throws -> ExitCode {
        let format = try arguments.format()
        let jobs = try arguments.number("jobs", default: 1000, in: KeepAliveCommand.jobs)
        let stage = try Stage()
        let log = StoryLog(isShown: format == .text)
        if arguments.hasFlag("owner") {
            let report = try OwnerStory(jobs: jobs, stage: stage, log: log).tell()
            if format == .json { StandardOutput.write(report.json) }
        } else {
            let report = try KeepAliveStory(jobs: jobs, stage: stage, log: log).tell()
            StandardOutput.write(format == .json ? report.json : report.table)
        }
        return .success
    }
}
