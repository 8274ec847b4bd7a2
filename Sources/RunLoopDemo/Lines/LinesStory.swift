import RunLoopKit

/// Standard input and two signals on the main loop, until the input ends or the user interrupts.
struct LinesStory {
    private struct State {
        var splitter = LineSplitter()
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
        // Replaces invalid UTF-8 by U+FFFD.
        LinesWriter.Line(number: state.value.splitter.lineNumber, text: String(decoding: bytes, as: UTF8.self))
    }

    private func take(_ lines: [LinesWriter.Line]) {
        guard !lines.isEmpty else { return }
        if let burst { burst.add(lines) } else { writer.write(lines) }
    }
}
