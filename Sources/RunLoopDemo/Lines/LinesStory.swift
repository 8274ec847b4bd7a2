import RunLoopKit

/// Standard input and two signals on the main loop, until the input ends or somebody interrupts.
struct LinesStory {
    private struct State {
        var splitter = LineSplitter()
        var hasEnded = false
        var failure: (any Error)?
    }

    private let writer: LinesWriter
    private let burst: Burst?
    private let state = LoopBound(State(), on: .main)

    /// - Parameter pause: How long there must be no line for a burst to be over; nil: each line is written as it comes.
    init(writer: LinesWriter, pause: Duration?) {
        self.writer = writer
        burst = pause.map { Burst(pause: $0, writer: writer) }
    }

    /// - Parameter descriptor: Of standard input.
    func tell(_ descriptor: Int32) throws {
        try Loop.main.prepare(.default)
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
        writer.end(lines: state.value.splitter.lineNumber, reason: reason)
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
        Loop.main.add(source, in: .default)
        return source
    }

    /// How large the terminal is now; nothing where there is none.
    private static var windowSize: String {
        StandardOutput.size.map { ": \($0.columns) columns and \($0.rows) rows" } ?? ""
    }

    // MARK: Lines

    private func handle(_ input: InputReader.Input) {
        switch input {
        case .bytes(let bytes):
            state.value.splitter.add(bytes)
            takeLines()
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

    private func takeLines() {
        var lines: [LinesWriter.Line] = []
        do throws(LineSplitter.LineTooLong) {
            while let line = try state.value.splitter.next() { lines.append(makeLine(line)) }
        } catch {
            let place = "\(InputFile.standardInput.name), line \(state.value.splitter.lineNumber)"
            state.value.failure = MalformedInput(message: "\(place): \(error.message)")
        }
        take(lines)
    }

    private func takeRest() {
        if let line = state.value.splitter.takeRest() { take([makeLine(line)]) }
    }

    private func makeLine(_ bytes: [UInt8]) -> LinesWriter.Line {
        // What is no UTF-8 is repaired, with U+FFFD for what is wrong.
        LinesWriter.Line(number: state.value.splitter.lineNumber, text: String(decoding: bytes, as: UTF8.self))
    }

    private func take(_ lines: [LinesWriter.Line]) {
        guard !lines.isEmpty else { return }
        if let burst { burst.add(lines) } else { writer.write(lines) }
    }
}
