import Foundation

/// Runs the demo program that was built beside these tests.
struct Demo {
    let status: Int32
    let output: String
    let errors: String

    /// - Parameter signal: What it is sent once it is under way.
    static func run(_ arguments: String..., signal: Int32? = nil) throws -> Demo { try run(arguments, signal: signal) }

    static func run(_ arguments: [String], signal: Int32? = nil) throws -> Demo {
        let process = try start(arguments)
        let (output, errors) = (process.standardOutput as! Pipe, process.standardError as! Pipe)
        var head = Data()
        if let signal {
            // It is under way once it has said something.
            head = output.fileHandleForReading.readData(ofLength: 1)
            kill(process.processIdentifier, signal)
        }
        let text = head + output.fileHandleForReading.readDataToEndOfFile()
        let complaints = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Demo(
            status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: complaints, as: UTF8.self))
    }

    static func runReadingOneLine(_ arguments: String...) throws -> Demo { try runReadingOneLine(arguments) }

    /// Reads the first line only and then closes the pipe; returns how the program ended.
    static func runReadingOneLine(_ arguments: [String]) throws -> Demo {
        let process = try start(arguments)
        let (output, errors) = (process.standardOutput as! Pipe, process.standardError as! Pipe)
        let head = output.fileHandleForReading.readData(ofLength: 1)
        try output.fileHandleForReading.close()
        let complaints = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Demo(
            status: process.terminationReason == .exit ? process.terminationStatus : -1,
            output: String(decoding: head, as: UTF8.self), errors: String(decoding: complaints, as: UTF8.self))
    }

    private static func start(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = Pipe()
        process.standardError = Pipe()
        try process.run()
        return process
    }

    /// The demo lies beside the program that runs the tests.
    private static let executable = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "RunLoopDemo")

    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// The output as JSON objects, one for each line; nil when a line is none.
    var objects: [[String: Any]]? {
        let parsed = lines.map { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        return parsed.contains { $0 == nil } ? nil : parsed.compactMap { $0 }
    }
}
