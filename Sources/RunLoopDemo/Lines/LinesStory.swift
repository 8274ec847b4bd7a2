import RunLoopKit

/// Standard input and two signals on the main loop, until the input ends or the user interrupts.
struct LinesStory {
    private struct State {
        var splitter = InputLines.makeSplitter()
        var lineCount = 0
        var hasEnded = false
        var failure: (any Error)?
    }

    private let writer: LinesWriter
    private let burst: Burst?
    private let state = LoopBound(State(), on: .main)

    /// - Parameter pause: The time without a line after which a burst is over; nil writes each line as it arrives.
    init(writer: LinesWriter, pause: Duration?) {
        self.writer = writer
        burst = pause.map { Burst(pause: $0, writer: writer) }
    }

    /// - Parameter descriptor: Standard input's descriptor.
    func tell(_ descriptor: Int32) throws {
        try Loop.main.prepare(.default)
        let interrupts = try Interruption.noteInterrupts()
        defer { interrupts.stop() }
        let signals = try [hear(SIGINT, "SIGINT"), hear(SIGWINCH, "SIGWINCH")]
        writer.begin()
        let reader = try InputReader(descriptor, on: .main, handler: handle)
        while !state.value.hasEnded, state.value.failure == nil, !Interruption.isRequested {
            Loop.main.run(mode: .default, until: .distantFuture)
        }
        reader.stop()
        burst?.finish()
        if let failure = state.value.failure { throw failure }
        let reason = state.value.hasEnded ? "end of input" : "interrupted"
        writer.end(lines: state.value.lineCount, reason: reason)
        for signal in signals { signal.invalidate() }
    }

    // MARK: Signals

    private func hear(_ signal: Int32, _ name: String) throws -> Loop.SignalSource {
        let writer = writer
        let source = try Loop.SignalSource(signal) { source, arrivals in
            for arrival in arrivals {
                writer.writeSignal(
                    name, from: arrival.senderProcess, source.signal == SIGWINCH ? LinesStory.windowSize : "")
            }
            if source.signal == SIGINT { Interruption.request(.interrupt) }
        }
        source.label = name
        Loop.main.add(source, in: .default)
        return source
    }

    /// The terminal's current size; empty without a terminal.
    private static var windowSize: String {
        StandardOutput.size.map { ": \($0.columns) columns and \($0.rows) rows" } ?? ""
    }

    // MARK: Lines

    private func handle(_ input: InputReader.Input) {
        switch input {
        case .bytes(let bytes):
            take(state.value.splitter.add(bytes))
            if state.value.failure == nil { return }
        case .end:
            takeRest()
            state.value.hasEnded = true
        case .failure(let code):
            takeRest()
            state.value.failure = InputFile.standardInput.readFailed(code)
        }
        Loop.main.stop()
    }

    private func takeRest() {
        if let line = state.value.splitter.finish() { take([line]) }
    }

    private func take(_ arrived: [Loop.LineSplitter.Line]) {
        var lines: [LinesWriter.Line] = []
        for line in arrived where state.value.failure == nil {
            state.value.lineCount += 1
            if let text = line.text {
                lines.append(LinesWriter.Line(number: state.value.lineCount, text: text))
            } else {
                let place = "\(InputFile.standardInput.name), line \(state.value.lineCount)"
                state.value.failure = MalformedInput(message: "\(place): \(InputLines.tooLong)")
            }
        }
        guard !lines.isEmpty else { return }
        if let burst { burst.add(lines) } else { writer.write(lines) }
    }
}
