import RunLoopKit

/// `RunLoopDemo lines`: standard input and signals on one loop.
struct LinesCommand: Command {
    let name = "lines"
    let summary = "Waits for lines of standard input and for signals at the same time, and reports what arrives."
    let discussion = """
        Standard input, which may be a terminal, a pipe or a file, and the signals SIGINT (Ctrl-C) and SIGWINCH (the
        terminal was resized) are sources of one loop on the main thread. The program ends at the end of the input
        (Ctrl-D), and at Ctrl-C, with exit code 130.

        With '--debounce 200ms' the lines of a burst are reported together, as soon as no line has come for 200 ms. A
        burst that grows to 1 MiB is reported at once.

        With '--format json' each line is an object: "t" (nanoseconds since the start), "event", and what belongs to
        it: "number" and "text" of a "line"; "number" (of the first) and "lines" of a "burst"; "name" and "sender" of
        a "signal"; "lines" (how many) and "reason" of the "end".

        A line longer than 1 MiB (1048576 bytes) ends the program with exit code 65. If the input cannot be read, the
        exit code is 66.
        """
    let options: [Option] = [
        .value(
            "debounce", "TIME",
            "Reports the lines of a burst together, after a pause of this length, such as 200ms or 1.5s."),
        .format,
    ]

    private static let pauses: ClosedRange<Duration> = .microseconds(1) ... .seconds(3600)

    func run(_ arguments: Arguments) throws -> ExitCode {
        let format = try arguments.format()
        let pause = try arguments.duration("debounce", in: LinesCommand.pauses)
        let input = try InputFile.standardInput.opened()
        Interruption.heed(in: [.default])
        try LinesStory(writer: LinesWriter(format: format), pause: pause).tell(input)
        return .success
    }
}
