import Foundation
import ProgramSupport

/// The demo program.
enum Demo {
    /// Independent of the terminal on which the tests run. An empty variable counts as not set.
    private static let plain = ["COLUMNS": "", "NO_COLOR": ""]

    /// The subcommands with arguments that need little time and no input except standard input.
    static let subcommands = [
        ["trace"], ["keepalive", "--jobs", "3"], ["keepalive", "--owner", "--jobs", "3"], ["throttle"],
        ["throttle", "--svg", "-"], ["replay", "-"], ["rules"], ["lines"], ["lines", "--debounce", "1ms"],
        ["feedback"], ["feedback", "--output", "-"],
        ["stall"],
    ]

    /// - Parameter signal: A signal to send once the program has begun its output.
    static func run(
        _ arguments: String..., signal: Int32? = nil, environment: [String: String] = [:],
        input: Program.Input = .nothing, redirections: String = ""
    ) throws -> Program {
        try run(arguments, signal: signal, environment: environment, input: input, redirections: redirections)
    }

    /// - Parameter redirections: In the shell's syntax, such as `>&-`.
    static func run(
        _ arguments: [String], signal: Int32? = nil, environment: [String: String] = [:],
        input: Program.Input = .nothing, redirections: String = ""
    ) throws -> Program {
        func run() throws -> Program {
            try Program.run(
                "RunLoopDemo", arguments, signal: signal, environment: plain.merging(environment) { $1 }, input: input,
                redirections: redirections)
        }
        guard signal != nil else { return try run() }
        // Some stories take half a second. On a busy machine one may be over before the signal is sent, or end by it
        // when it no longer handles signals.
        var program = try run()
        for _ in 0..<20 where [0, -1].contains(program.status) { program = try run() }
        return program
    }

    /// Reads one byte only and then closes the pipe.
    static func runReadingOneLine(_ arguments: [String], input: Program.Input = .nothing) throws -> Program {
        try Program.runAndCloseThePipe("RunLoopDemo", arguments, input: input)
    }

    /// Leaves the output in the pipe, sends a signal once the pipe is full, and reads the pipe after the program's end.
    static func runUnread(_ arguments: [String], signal: Int32, input: Program.Input) throws -> Program {
        try Program.runUnread("RunLoopDemo", arguments, signal: signal, input: input)
    }

    /// Starts the program on a terminal of its own, which by default has no size.
    static func start(
        _ arguments: [String], environment: [String: String], rows: UInt16 = 0, columns: UInt16 = 0
    ) throws -> TerminalProgram {
        try TerminalProgram(
            "RunLoopDemo", arguments, environment: plain.merging(environment) { $1 }, rows: rows, columns: columns)
    }

    /// Sends the program's input, and waits for its output.
    static func talk(_ arguments: [String], _ body: (Conversation) -> Void) throws -> Program {
        try Program.talk("RunLoopDemo", arguments, body)
    }
}

/// A file that is deleted when the object is deallocated.
final class TemporaryFile {
    private let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    init(_ data: Data) throws { try data.write(to: url) }

    convenience init(_ text: String) throws { try self.init(Data(text.utf8)) }

    deinit { try? FileManager.default.removeItem(at: url) }

    var path: String { url.path }
}
