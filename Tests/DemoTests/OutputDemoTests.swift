import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Standard input, output and error, in any state.
@Suite(.timeBound) struct OutputDemoTests {
    /// A few of the recorded scenarios: all of them take a debug build half a second.
    private let scenarios: TemporaryFile
    private var input: Program.Input { .file(scenarios.path) }

    init() throws {
        let all = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../RunLoopKitTests/Fixtures/ratelimit-scenarios.jsonl")
        let lines = try String(contentsOf: all, encoding: .utf8).split(separator: "\n")
        scenarios = try TemporaryFile(lines.prefix(20).joined(separator: "\n") + "\n")
    }

    private static let everything =
        Demo.subcommands
        + Demo.subcommands.filter { !$0.contains("-") || $0[0] == "replay" }.map { $0 + ["--format", "json"] }
        + [["--help"], ["help", "trace"], ["lines", "--help"]]

    // MARK: Closed and full

    /// The next descriptor gets the lowest free number: a loop's own descriptor must not be used as the output.
    @Test("A closed output is an error, and no other descriptor is written to", arguments: everything)
    func closedOutput(_ arguments: [String]) throws {
        for redirections in [">&-", "<&- >&-"] where redirections == ">&-" || !Self.reads(arguments) {
            let demo = try Demo.run(arguments, input: input, redirections: redirections)
            #expect(demo.status == 1, "\(redirections)")
            #expect(demo.errors == "RunLoopDemo: cannot write the output: standard output is closed\n")
        }
        let silent = try Demo.run(arguments, input: input, redirections: ">&- 2>&-")
        #expect(silent.status == 1 && silent.errors == "")
    }

    @Test("A full disk is an error", arguments: everything)
    func fullDisk(_ arguments: [String]) throws {
        let demo = try Demo.run(arguments, input: input, redirections: ">/dev/full")
        #expect(demo.status == 1)
        #expect(demo.errors == "RunLoopDemo: cannot write the output: No space left on device\n")
    }

    @Test("The program works without standard input and without standard error", arguments: everything)
    func onlyStandardOutput(_ arguments: [String]) throws {
        let silent = try Demo.run(arguments, input: input, redirections: "2>&-")
        #expect(silent.status == 0 && silent.output != "")
        let demo = try Demo.run(arguments, redirections: "<&-")
        #expect(demo.status == (Self.reads(arguments) ? 66 : 0), "\(demo.errors)")
        let none = try Demo.run(arguments, redirections: "<&- >&- 2>&-")
        #expect(none.status == (Self.reads(arguments) ? 66 : 1) && none.output == "" && none.errors == "")
    }

    @Test("A closed pipe does not crash the program", arguments: everything)
    func closedPipe(_ arguments: [String])
        throws
    {
        let demo = try Demo.runReadingOneLine(arguments, input: input)
        #expect(demo.status == 0 && demo.errors == "")
    }

    private static func reads(_ arguments: [String]) -> Bool {
        ["lines", "replay"].contains(arguments[0]) && !arguments.contains("--help")
    }

    // MARK: Interruptions

    /// A program blocked in `write` would never receive the signal.
    @Test("A signal ends the program while the pipe is full", arguments: [SIGINT, SIGTERM])
    func signalWhilePipeIsFull(_ signal: Int32) throws {
        let lines = try TemporaryFile(String(repeating: "a line of this file\n", count: 20_000))
        let demo = try Demo.runUnread(["lines"], signal: signal, input: .file(lines.path))
        #expect(demo.status == 128 + signal && demo.errors == "")
        let scenario = #"{"id":1,"kind":"throttle","wait":5,"ops":[{"t":1,"op":"call","v":7}]}"# + "\n"
        let scenarios = try TemporaryFile(String(repeating: scenario, count: 20_000))
        let replay = try Demo.runUnread(["replay", "-"], signal: signal, input: .file(scenarios.path))
        #expect(replay.status == 128 + signal && replay.errors == "")
    }

    // MARK: Widths

    @Test("Text is as wide as the environment variable says")
    func widthFromVariable() throws {
        for columns in [30, 47, 100, 200] {
            let demo = try Demo.run("replay", "-", environment: ["COLUMNS": "\(columns)"], input: input)
            let width = demo.lines.map(\.count).max() ?? 0
            #expect(demo.status == 0 && width <= columns && width > columns - 15, "\(width) of \(columns)")
        }
        for columns in ["0", "-1", "x", "", "99999999999999999999", "70000", "1e2", " 90"] {
            let demo = try Demo.run("replay", "-", environment: ["COLUMNS": columns], input: input)
            let width = demo.lines.map(\.count).max() ?? 0
            #expect(demo.status == 0 && width <= 80 && width > 65, "\(width) for \(columns.debugDescription)")
        }
    }

    @Test("No width crashes the program", arguments: Demo.subcommands)
    func anyWidth(_ arguments: [String]) throws {
        for columns in ["1", "2", "65535"] {
            let demo = try Demo.run(arguments, environment: ["COLUMNS": columns], input: input)
            #expect(demo.status == 0 && demo.errors == "")
        }
    }

    /// The terminal is more current: it may have been resized after the variable was set.
    @Test("A terminal's width takes precedence over the environment variable")
    func terminalWidthComesFirst() throws {
        let words = ["rules"]
        for (columns, variable, width) in [(70, "90", 70), (0, "90", 90), (0, "", 80)] as [(UInt16, String, Int)] {
            let demo = try Demo.start(words, environment: ["COLUMNS": variable, "NO_COLOR": "1"], columns: columns)
            #expect(demo.waitForEnd() == 0)
            let lines = demo.screen.split(whereSeparator: \.isNewline).filter { !$0.contains("/") }
            let longest = lines.map(\.count).max() ?? 0
            #expect(longest <= width && longest > width - 12, "\(longest) of \(width)")
        }
    }

    // MARK: Colours

    @Test("Only terminals that support colours get them")
    func colours() throws {
        func hasColours(_ arguments: [String], _ environment: [String: String]) throws -> Bool {
            let demo = try Demo.start(arguments, environment: environment)
            if arguments == ["lines"] { demo.type("x\n\u{04}") }
            #expect(demo.waitForEnd() == 0)
            return demo.screen.contains("\u{1B}")
        }
        for arguments in [["trace"], ["keepalive"], ["throttle"], ["rules"], ["lines"], ["feedback"]] {
            #expect(try hasColours(arguments, [:]))
            #expect(try !hasColours(arguments, ["TERM": "dumb"]))
            #expect(try !hasColours(arguments, ["TERM": ""]))
            #expect(try !hasColours(arguments, ["NO_COLOR": "1"]))
        }
    }
}
