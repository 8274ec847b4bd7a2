import RunLoopKit

/// `RunLoopDemo trace`: every activity and every callout of a loop, as it happens.
struct TraceCommand: Command {
    let name = "trace"
    let summary = "Shows what a run loop does, line by line: its activities and the handlers it calls."
    let discussion = """
        For about half a second a loop on the main thread has to do with timers, a source that another thread signals,
        a port that another thread sends to, blocks, the main dispatch queue, which is the main actor's too, a switch of
        modes and a nested run; then another thread stops it.
        What is shown is what an observer and the handlers see.

        With '--format json' each line is an object: "t" (nanoseconds since the start), "depth" (in how many other
        runs this run is nested), "mode", "event", and what belongs to the event: "activity", "phase" and "label", or
        "result".
        """
    let options: [Option] = [.format]

    func run(_ arguments: Arguments) throws -> ExitCode {
        let format = try arguments.format()
        Interruption.heed(in: TraceStory.modes)
        let recorder = Recorder(writer: makeWriter(format))
        let observer = recorder.observe(TraceStory.modes)
        try TraceStory(recorder: recorder).tell()
        observer.invalidate()
        recorder.finish()
        return .success
    }

    private func makeWriter(_ format: OutputFormat) -> any TraceWriter {
        switch format {
        case .text: TextTraceWriter(usesColour: TextStyle.isWanted)
        case .json: JSONTraceWriter()
        }
    }
}
