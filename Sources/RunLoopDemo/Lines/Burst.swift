import RunLoopKit

/// Lines that are reported together, once they pause. On the main loop's thread.
struct Burst {
    /// In bytes. A burst without a pause must not take memory without end: one that is as large is reported at once.
    private static let largest = 1 << 20

    /// What a line takes in memory beside its text, roughly.
    private static let lineOverhead = 64

    private let debounce: Debounce<[LinesWriter.Line]>
    private let size: LoopBound<Int>

    /// - Parameter pause: How long there must be no line for a burst to be over.
    init(pause: Duration, writer: LinesWriter) {
        let size = LoopBound(0, on: .main)
        self.size = size
        debounce = .collecting(interval: pause, on: .main, in: [.default]) { lines in
            size.value = 0
            writer.writeBurst(lines.flatMap { $0 })
        }
    }

    func add(_ lines: [LinesWriter.Line]) {
        debounce(lines)
        size.value += lines.reduce(0) { $0 + $1.text.utf8.count + Burst.lineOverhead }
        if size.value >= Burst.largest { debounce.flush() }
    }

    /// Reports what there is.
    func finish() { debounce.flush() }
}
