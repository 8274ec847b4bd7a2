import RunLoopDiagnostics
import RunLoopKit

/// `RunLoopDemo stall`: handlers that keep their loop from coming around, and what a monitor reports about them.
struct StallCommand: Command {
    let name = "stall"
    let summary = "Shows handlers that stall their loop, and how a StallMonitor reports them."
    let discussion = """
        Three stories: a handler that waits for an answer that does not come, one that computes for too long, and two
        threads that wait for each other. One StallMonitor watches all loops. After 100 ms it reports the handler that
        stalls its loop, the functions that the thread is in, and what waits behind the handler. The story then ends
        the stall, which the monitor reports too. Time in which the monitor could not run either, as on a busy
        machine, does not count.

        With '--format json' each line is an object: "story" ("blocks", "computes" or "deadlock") and "event". A
        "stalled" and a "continues" have "loop" and "ns" (how long). A "stalled" also has "kind", "label", "mode",
        "nesting", "blocks", "jobs", "sources" and "timers" (how many wait), and "functions" (of the handler,
        innermost first). A "metrics" has "loop", "callouts", "busyNs" and "awakeNs".
        """
    let options: [Option] = [.format]

    func run(_ arguments: Arguments) throws -> ExitCode {
        let format = try arguments.format()
        try StallStory(stage: Stage(), writer: StallWriter(format: format)).tell()
        return .success
    }
}
