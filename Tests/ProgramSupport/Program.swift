import Foundation

/// The exit status and the output of a program that was built beside these tests.
package struct Program {
    /// A program's standard input.
    package enum Input {
        case nothing
        case file(String)
        /// The caller still owns it.
        case descriptor(Int32)
        /// There is no standard input at all.
        case closed
    }

    /// A program did not end, and was killed. The description contains its output until then.
    package struct Overdue: Error, CustomStringConvertible {
        package let description: String
    }

    /// The exit code; -1 when a signal ended it.
    package let status: Int32
    package let output: String
    package let errors: String

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - signal: A signal to send once the program has begun its output.
    ///   - redirections: In the shell's syntax, such as `>&-`.
    package static func run(
        _ name: String, _ arguments: [String], signal: Int32? = nil, environment: [String: String] = [:],
        input: Input = .nothing, redirections: String = ""
    ) throws -> Program {
        try run(name, arguments, environment, input, redirections) { process, output in
            guard let signal else { return output.readDataToEndOfFile() }
            // The program has started once it writes.
            let head = output.readData(ofLength: 1)
            kill(process.processIdentifier, signal)
            return head + output.readDataToEndOfFile()
        }
    }

    /// Reads one byte only and then closes the pipe, as `head` does.
    package static func runAndCloseThePipe(
        _ name: String, _ arguments: [String], input: Input = .nothing
    ) throws -> Program {
        try run(name, arguments, [:], input, "") { _, output in
            defer { try? output.close() }
            return output.readData(ofLength: 1)
        }
    }

    /// Reads nothing until the program has ended; sends it a signal once the pipe is full.
    package static func runUnread(
        _ name: String, _ arguments: [String], signal: Int32, input: Input = .nothing
    ) throws -> Program {
        try run(name, arguments, [:], input, "") { process, output in
            var count: Int32 = 0
            // A pipe takes 65536 bytes. The program writes in pieces, and exits if it cannot write.
            while count < 60000, process.isRunning, ioctl(output.fileDescriptor, UInt(FIONREAD), &count) == 0 {
                usleep(50)
            }
            kill(process.processIdentifier, signal)
            process.waitUntilEnd()
            return output.readDataToEndOfFile()
        }
    }

    /// Runs a program with a pipe as its input: `body` sends its input and waits for its output. The pipe is closed
    /// when `body` returns, at the latest.
    package static func talk(
        _ name: String, _ arguments: [String], _ body: (Conversation) -> Void
    ) throws -> Program {
        let pipe = try PrivatePipe()
        return try run(name, arguments, [:], .descriptor(pipe.reader.fileDescriptor), "") { process, output in
            let conversation = Conversation(process: process, input: pipe, output: output)
            body(conversation)
            conversation.hangUp()
            return conversation.heard + output.readDataToEndOfFile()
        }
    }

    /// The location of a program that was built beside these tests; an absolute path stays the same.
    package static func url(of name: String) -> URL {
        if name.hasPrefix("/") { return URL(filePath: name) }
        return URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: name)
    }

    private static func run(
        _ name: String, _ arguments: [String], _ environment: [String: String], _ input: Input,
        _ redirections: String, reading: (RunningProgram, FileHandle) -> Data
    ) throws -> Program {
        let path = url(of: name).path
        let command =
            redirections.isEmpty
            ? [path] + arguments : ["/bin/sh", "-c", "exec \"$0\" \"$@\" \(redirections)", path] + arguments
        let output = try PrivatePipe()
        // A file, not a pipe: a full pipe would block the program while the test reads its output.
        let complaints = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        _ = FileManager.default.createFile(atPath: complaints.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: complaints) }
        let process = try RunningProgram(command, environment: environment) { actions in
            switch input {
            case .nothing: posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            case .file(let path): posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0)
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, 0)
            case .closed: posix_spawn_file_actions_addclose(&actions, 0)
            }
            posix_spawn_file_actions_adddup2(&actions, output.writer.fileDescriptor, 1)
            posix_spawn_file_actions_addopen(&actions, 2, complaints.path, O_WRONLY, 0)
        }
        // Otherwise the output would have no end.
        try output.writer.close()
        let deadline = Deadline { kill(process.processIdentifier, SIGKILL) }
        let text = reading(process, output.reader)
        process.waitUntilEnd()
        let isInTime = deadline.isMet()
        let status = process.reap()
        // Not `Data(contentsOf:)`: it leaks when the file is empty.
        let reader = try FileHandle(forReadingFrom: complaints)
        defer { try? reader.close() }
        let complained = reader.readDataToEndOfFile()
        let program = Program(
            status: max(status, -1), output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: complained, as: UTF8.self))
        guard isInTime else { throw program.overdue(([name] + arguments).joined(separator: " ")) }
        return program
    }

    private func overdue(_ command: String) -> Overdue {
        Overdue(
            description: """
                \(command) did not end within \(Deadline.limit) s and was killed. Its output ended with \
                \(output.suffix(500).debugDescription), its errors with \(errors.suffix(500).debugDescription).
                """)
    }

    package var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// The output as JSON objects, one for each line; nil if a line is not an object.
    package var objects: [[String: Any]]? {
        let parsed = lines.map { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        return parsed.contains { $0 == nil } ? nil : parsed.compactMap { $0 }
    }
}
