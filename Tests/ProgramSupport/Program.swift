import Foundation

/// How a program ended that was built beside these tests, and what it said.
package struct Program {
    /// The exit code; -1 when a signal ended it.
    package let status: Int32
    package let output: String
    package let errors: String

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - signal: What it is sent once it is under way.
    ///   - input: A file that is its standard input. Nothing, otherwise.
    package static func run(
        _ name: String, _ arguments: [String], signal: Int32? = nil, environment: [String: String] = [:],
        input: URL? = nil
    ) throws -> Program {
        let handle = try input.map { try FileHandle(forReadingFrom: $0) } ?? .nullDevice
        return try run(name, arguments, environment, handle) { process, output in
            guard let signal else { return output.readDataToEndOfFile() }
            // It is under way once it has said something.
            let head = output.readData(ofLength: 1)
            kill(process.processIdentifier, signal)
            return head + output.readDataToEndOfFile()
        }
    }

    /// Reads one byte only and then closes the pipe, as `head` does.
    package static func runAndCloseThePipe(_ name: String, _ arguments: [String]) throws -> Program {
        try run(name, arguments, [:], .nullDevice) { _, output in
            defer { try? output.close() }
            return output.readData(ofLength: 1)
        }
    }

    /// Where a program is that was built beside these tests; one with an absolute path is where it says.
    package static func url(of name: String) -> URL {
        if name.hasPrefix("/") { return URL(filePath: name) }
        return URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: name)
    }

    private static func run(
        _ name: String, _ arguments: [String], _ environment: [String: String], _ input: FileHandle,
        reading: (Process, FileHandle) -> Data
    ) throws -> Program {
        let process = Process()
        process.executableURL = url(of: name)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        let output = Pipe()
        process.standardOutput = output
        // A file, not a pipe: nobody reads it while the other one is read.
        let complaints = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        _ = FileManager.default.createFile(atPath: complaints.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: complaints) }
        process.standardError = try FileHandle(forWritingTo: complaints)
        try process.run()
        let text = reading(process, output.fileHandleForReading)
        process.waitUntilExit()
        return Program(
            status: process.terminationReason == .exit ? process.terminationStatus : -1,
            output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: try FileHandle(forReadingFrom: complaints).readDataToEndOfFile(), as: UTF8.self))
    }

    package var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// The output as JSON objects, one for each line; nil when a line is none.
    package var objects: [[String: Any]]? {
        let parsed = lines.map { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        return parsed.contains { $0 == nil } ? nil : parsed.compactMap { $0 }
    }
}
