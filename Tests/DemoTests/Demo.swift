import Foundation
import ProgramSupport

/// The demo program.
enum Demo {
    /// - Parameter signal: What it is sent once it is under way.
    static func run(_ arguments: String..., signal: Int32? = nil) throws -> Program {
        try run(arguments, signal: signal)
    }

    static func run(_ arguments: [String], signal: Int32? = nil, input: URL? = nil) throws -> Program {
        try Program.run("RunLoopDemo", arguments, signal: signal, input: input)
    }

    /// Reads one byte only and then closes the pipe.
    static func runReadingOneLine(_ arguments: [String]) throws -> Program {
        try Program.runAndCloseThePipe("RunLoopDemo", arguments)
    }
}
