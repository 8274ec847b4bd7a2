import RunLoopDiagnostics
import RunLoopKit

/// `RunLoopDemo trace`: every activity and every callout of a loop, as it happens.
struct TraceCommand: Command {
    let name = "trace"
    let summary = "Shows what a run loop does, line by line: its activities and the handlers it calls."
    let discussion = """
        For about half a second a loop runs on the main thread: in the default mode, in the mode 'tracking', and
        nested in a handler. It calls the handlers of timers, of a source that another thread signals, of a port that
        another thread sends to, of posted blocks, and of the main dispatch queue, which runs the main actor's jobs
        too. Then another thread stops it. The output is what an observer and the handlers record.

        With '--format json' each line is an object: "t" (nanoseconds since the start), "depth" (in how many other
        runs this run is nested), "mode", "event", and what belongs to the event: "activity", "phase" and "label", or
        "result".

        With '--output' a LoopTracer traces the loops of all threads as well. The story then has two more: one of an
        actor, and one of a thread with three mistakes in it, which the trace reports. Arrows lead from a post, a send
        or an enqueued job to the handler that it causes. FILE.html is a page for a browser, FILE.json is for
        ui.perfetto.dev and chrome://tracing, FILE.txt is text.
        """
    let options: [Option] = [
        .value("output", "FILE", "Traces all loops of the story into a file: .html, .json or .txt."), .format,
    ]

    func run(_ arguments: Arguments) throws -> ExitCode {
        let format = try arguments.format()
        let file = try arguments.value(of: "output").map(TraceFile.init)
        Interruption.heed(in: TraceStory.modes)
        let recorder = Recorder(writer: makeWriter(format))
        let observer = recorder.observe(TraceStory.modes)
        let story = try TraceStory(recorder: recorder)
        let traced = try file.map { _ in try TracedStory() }
        traced?.begin(with: story.threads)
        story.tell()
        observer.invalidate()
        let trace = traced?.end()
        recorder.finish()
        guard let file, let trace else { return .success }
        guard file.write(trace) else { return .failure }
        if format == .text { StandardOutput.write("\n\(file.advice)\n") }
        return .success
    }

    private func makeWriter(_ format: OutputFormat) -> any TraceWriter {
        switch format {
        case .text: TextTraceWriter(usesColour: TextStyle.isWanted)
        case .json: JSONTraceWriter()
        }
    }
}
