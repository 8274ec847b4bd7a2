import FoundationEssentials
import RunLoopKit

/// A file with a snapshot of rules.
struct RulesFile {
    /// What is in the file makes no sense.
    struct NoSnapshot: Error {
        /// One line.
        let message: String
    }

    struct NotWritten: Error, CustomStringConvertible {
        let description: String
    }

    let path: String

    /// The snapshot; nil when there is no file.
    func read() throws -> ThrottleEngine.Snapshot? {
        guard let bytes = try readFile(path) else { return nil }
        do {
            return try JSONDecoder().decode(ThrottleEngine.Snapshot.self, from: Data(bytes))
        } catch {
            throw NoSnapshot(message: refusal(error))
        }
    }

    /// Replaces the file in one step: whoever reads it, and whenever the machine stops, finds the old one or the new.
    func write(_ snapshot: ThrottleEngine.Snapshot) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        do {
            try encoder.encode(snapshot).write(to: URL(filePath: path), options: .atomic)
        } catch let error as CocoaError {
            throw NotWritten(description: "cannot write \(path.debugDescription): \(reason(error))")
        }
    }

    private func reason(_ error: CocoaError) -> String {
        guard let cause = error.underlying as? POSIXError else { return "error \(error.code.rawValue)" }
        return String(cString: strerror(cause.code.rawValue))
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// A path that nobody has.
    static func temporary() -> RulesFile {
        let folder = FileManager.default.temporaryDirectory
        return RulesFile(path: folder.appending(path: "RunLoopDemo-rules-\(UUID().uuidString).json").path)
    }

    /// What is to be said about a file that could be read, but not used.
    func refusal(_ error: any Error) -> String {
        let reason =
            switch error {
            case DecodingError.dataCorrupted(let context), DecodingError.keyNotFound(_, let context),
                DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
                context.debugDescription
            default: "\(error)"
            }
        // Whatever the reason quotes, it stays one line.
        let line = reason.split(whereSeparator: \.isNewline).joined(separator: " ")
        return "\(path.debugDescription) has no rules that can be used, and is left alone: \(line)"
    }
}
