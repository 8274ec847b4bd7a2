import RunLoopKit

/// `RunLoopDemo keepalive`: a worker thread that stays alive, and what that saves.
struct KeepAliveCommand: Command {
    /// A million threads, one after the other, take about a minute: more would show nothing new.
    private static let jobs = 1...1_000_000

    let name = "keepalive"
    let summary = "Runs many jobs on one thread that stays alive, and compares that with a thread for each job."
    let discussion = """
        A LoopThread runs the jobs twice: in a burst and, after a count of the passes of the idle thread, one by one,
        each job waited for. Then the thread is stopped and joined, and the program counts its threads and descriptors
        (/proc/self). Finally each job runs on a new thread of its own.

        With '--owner' an object owns the thread. The object hands over the jobs, and its last reference is released:
        the thread runs the jobs that it has accepted, and ends without a call of stop().

        With '--format json' the outcome is one object: "jobs", "done" (how many were done both ways), "inOrder",
        "distinctThreads", "nsPerJob" (one by one), "nsPerJobInBurst", "nsPerJobThreadEach", "passesWhileIdle",
        "waitsWhileIdle", and "threadsBefore", "threadsAfter", "descriptorsBefore", "descriptorsAfter": before the
        LoopThread was started and after it was joined. A value that an interruption kept from being measured is null.
        With '--owner': "ownerGone", "threadEnded", "jobs", "done" and the same counts.
        """
    let options: [Option] = [
        .value("jobs", "1...\(jobs.upperBound)", "The number of jobs. Default: 1000."),
        .flag("owner", "Shows what happens to a thread whose owner is deallocated."),
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
