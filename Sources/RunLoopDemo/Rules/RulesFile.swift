import FoundationEssentials
import RunLoopKit
import RunLoopRules

/// A file with a snapshot of rules.
struct RulesFile {
    /// The contents of the file are not a valid snapshot.
    struct NoSnapshot: Error {
        /// One line.
        let message: String
    }

    let path: String

    /// The snapshot; nil when there is no file.
    func read() throws -> RuleEngine.Snapshot? {
        guard let bytes = try readFile(path) else { return nil }
        do {
            return try JSONDecoder().decode(RuleEngine.Snapshot.self, from: Data(bytes))
        } catch {
            throw NoSnapshot(message: refusal(error))
        }
    }

    /// Replaces the file in one step.
    func write(_ snapshot: RuleEngine.Snapshot) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try replaceFile(path, with: Array(encoder.encode(snapshot)))
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// A path at which there is no file.
    static func temporary() -> RulesFile {
        let folder = FileManager.default.temporaryDirectory
        return RulesFile(path: folder.appending(path: "RunLoopDemo-rules-\(UUID().uuidString).json").path)
    }

    /// The error text for a file that was read but cannot be used.
    func refusal(_ error: any Error) -> String {
        let reason =
            if case DecodingError.dataCorrupted(let context) = error { notJSON(context) } else { "\(error)" }
        // One line, even if the reason quotes several.
        let line = reason.split(whereSeparator: \.isNewline).joined(separator: " ")
        return "\(path.debugDescription) has no rules that can be used, and is left alone: \(line)"
    }

    /// Where the text stops being JSON, if the decoder says so.
    private func notJSON(_ context: DecodingError.Context) -> String {
        let cause = (context.underlyingError as? CocoaError)?.userInfo["NSDebugDescription"] as? String
        return (["it is no JSON"] + [cause].compactMap(\.self)).joined(separator: ": ")
    }
}
