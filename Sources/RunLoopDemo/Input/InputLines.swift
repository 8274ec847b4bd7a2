import RunLoopKit

/// The lines of an input.
enum InputLines {
    /// In bytes, without the line's end. A line is held until its end arrives, and an input may have no line ends.
    private static let longestLine = 1 << 20

    /// The message for a longer line, one line.
    static let tooLong = "longer than \(longestLine) bytes (1 MiB)"

    static func makeSplitter() -> Loop.LineSplitter {
        Loop.LineSplitter(maximalLength: longestLine, removesCarriageReturns: false)
    }
}
