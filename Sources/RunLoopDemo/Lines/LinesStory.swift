import FoundationEssentials
import RunLoopKit

/// Standard input and two signals on the main loop, until the input ends or somebody interrupts.
struct LinesStory {
    private struct State {
        var splitter = LineSplitter()
        var lines = 0
        var hasEnded = false
        var failure: Int32?
    }

    private let writer: LinesWriter
    private let debounce: Debounce<[LinesWriter.Line]>?
    private let state = LoopBound(State(), on: .main)

    /// - Parameter pause: How long there must be no line for a burst to be over; nil: each line is written as it comes.
    init(writer: LinesWriter, pause: Duration?) {
        self.writer = writer
        debounce = pause.map { pause in
            .collecting(interval: pause, on: .main, in: [.default]) { writer.writeBurst($0.flatMap { $0 }) }
        }
    }

    /// - Parameter descriptor: Of standard input.
    func tell(_ descriptor: Int32) throws {
        let signals = try [hear(SIGINT, "SIGINT"), hear(SIGWINCH, "SIGWINCH")]
        writer.begin()
        let (state, take) = (state, take)
        let reader = try InputReader(descriptor, on: .main) { input in
            switch input {
            case .bytes(let bytes): return take(state.value.splitter.lines(with: bytes))
            case .end: state.value.hasEnded = true
            case .failure(let code): state.value.failure = code
            }
            if let last = state.value.splitter.takeRest() { take([last]) }
            Loop.main.stop()
        }
        while !state.value.hasEnded, state.value.failure == nil, !Interruption.isRequested {
            Loop.main.run(mode: .default, until: .distantFuture)
        }
        reader.stop()
        debounce?.flush()
        if let code = state.value.failure { throw InputFile.standardInput.readFailed(code) }
        writer.end(lines: state.value.lines, reason: state.value.hasEnded ? "end of input" : "interrupted")
        for signal in signals { signal.invalidate() }
    }

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

    private var take: @Sendable ([Data]) -> Void {
        let (state, writer, debounce) = (state, writer, debounce)
        return { texts in
            guard !texts.isEmpty else { return }
            let first = state.value.lines + 1
            state.value.lines += texts.count
            // What is no UTF-8 is repaired, with U+FFFD for what is wrong.
            let lines = zip(first..., texts).map {
                LinesWriter.Line(number: $0, text: String(decoding: $1, as: UTF8.self))
            }
            if let debounce { debounce(lines) } else { writer.write(lines) }
        }
    }

    /// How large the terminal is now; nothing where there is none.
    private static var windowSize: String {
        StandardOutput.size.map { ": \($0.columns) columns and \($0.rows) rows" } ?? ""
    }
}
