import Foundation
import ProgramSupport

/// The demo program.
enum Demo {
    /// - Parameter signal: What it is sent once it is under way.
    static func run(
        _ arguments: String..., signal: Int32? = nil, input: Program.Input = .nothing
    ) throws -> Program {
        try run(arguments, signal: signal, input: input)
    }

    static func run(
        _ arguments: [String], signal: Int32? = nil, input: Program.Input = .nothing
    ) throws -> Program {
        try Program.run("RunLoopDemo", arguments, signal: signal, input: input)
    }

    /// Reads one byte only and then closes the pipe.
    static func runReadingOneLine(_ arguments: [String], input: Program.Input = .nothing) throws -> Program {
        try Program.runAndCloseThePipe("RunLoopDemo", arguments, input: input)
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
