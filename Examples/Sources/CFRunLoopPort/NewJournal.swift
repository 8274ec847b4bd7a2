import RunLoopKit

/// As it is now. What the thread owns is in a box that traps on any other thread.
final class NewJournal: Journal {
    private struct State {
        var lines: [String] = []
        var flushedCount = 0
    }

    private let thread: LoopThread
    private let state: LoopBound<State>
    private let flushSource: Loop.Source0

    init(report: @escaping Report) throws {
        thread = try LoopThread(name: "journal")  // its loop accepts work from here on
        let state = LoopBound(State(), on: thread.loop)
        self.state = state
        flushSource = Loop.Source0 {
            guard state.value.flushedCount < state.value.lines.count else { return }
            state.value.flushedCount = state.value.lines.count
            report("flushed \(state.value.flushedCount) lines")
        }
        thread.loop.add(flushSource, in: .common)
        thread.loop.add(Loop.Timer(every: .milliseconds(10)) { _ in report("heartbeat") }, in: .common)
    }

    func add(_ line: String) {
        thread.perform { [state] in state.value.lines.append(line) }
    }

    func lineCount() throws -> Int {
        try thread.performAndWait { [state] in state.value.lines.count }
    }

    func setNeedsFlush() {
        flushSource.signal()
    }

    func stop() {
        thread.stop()
        thread.join()
    }
}
