import RunLoopKit

/// Lines that are reported together once no more arrive for a while. On the main loop's thread.
struct Burst {
    /// In bytes. A burst without a pause must not take unbounded memory: a burst of this size is reported at once.
    private static let largest = 1 << 20

    /// The approximate memory of a line besides its text.
    private static let lineOverhead = 64

    private let debounce: Debounce<[LinesWriter.Line]>
    private let size: LoopBound<Int>

    /// - Parameter pause: The time without a line after which a burst is over.
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

    /// Reports the lines of the current burst.
    func finish() { debounce.flush() }
}
