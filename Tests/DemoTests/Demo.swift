import Foundation
import ProgramSupport

/// The demo program.
enum Demo {
    /// Whatever the terminal is like on which the tests are run. Empty is as good as not set.
    private static let plain = ["COLUMNS": "", "NO_COLOR": ""]

    /// The subcommands, so that they need no time and no other input than standard input.
    static let subcommands = [
        ["trace"], ["keepalive", "--jobs", "3"], ["keepalive", "--owner", "--jobs", "3"], ["throttle"],
        ["throttle", "--svg", "-"], ["replay", "-"], ["rules"], ["lines"], ["lines", "--debounce", "1ms"],
    ]

    /// - Parameter signal: What it is sent once it is under way.
    static func run(
        _ arguments: String..., signal: Int32? = nil, environment: [String: String] = [:],
        input: Program.Input = .nothing, redirections: String = ""
    ) throws -> Program {
        try run(arguments, signal: signal, environment: environment, input: input, redirections: redirections)
    }

    /// - Parameter redirections: As a shell understands them, such as `>&-`.
    static func run(
        _ arguments: [String], signal: Int32? = nil, environment: [String: String] = [:],
        input: Program.Input = .nothing, redirections: String = ""
    ) throws -> Program {
        try Program.run(
            "RunLoopDemo", arguments, signal: signal, environment: plain.merging(environment) { $1 }, input: input,
            redirections: redirections)
    }

    /// Reads one byte only and then closes the pipe.
    static func runReadingOneLine(_ arguments: [String], input: Program.Input = .nothing) throws -> Program {
        try Program.runAndCloseThePipe("RunLoopDemo", arguments, input: input)
    }

    /// Leaves what it says in the pipe, and sends it a signal once that is full. What is in the pipe is read after its
    /// end.
    static func runUnread(_ arguments: [String], signal: Int32, input: Program.Input) throws -> Program {
        try Program.runUnread("RunLoopDemo", arguments, signal: signal, input: input)
    }

    /// On a terminal of its own, which has no width and no lines if it is not given any.
    static func start(
        _ arguments: [String], environment: [String: String], rows: UInt16 = 0, columns: UInt16 = 0
    ) throws -> TerminalProgram {
        try TerminalProgram(
            "RunLoopDemo", arguments, environment: plain.merging(environment) { $1 }, rows: rows, columns: columns)
    }

    /// Sends what it reads, and waits for what it says.
    static func talk(_ arguments: [String], _ body: (Conversation) -> Void) throws -> Program {
        try Program.talk("RunLoopDemo", arguments, body)
    }
}

/// A file that goes with its last reference.
final class TemporaryFile {
    private let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    init(_ data: Data) throws { try data.write(to: url) }

    convenience init(_ text: String) throws { try self.init(Data(text.utf8)) }

    deinit { try? FileManager.default.removeItem(at: url) }

    var path: String { url.path }
}
