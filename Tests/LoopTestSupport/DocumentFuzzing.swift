import Foundation
import RunLoopKit
import TestSupport

/// Plays documents from outside that are nearly valid.
///
/// In a process of its own, so that a crash or a hang is attributed to its document. `FUZZ_SEED` and `FUZZ_DOCUMENTS`
/// choose other documents.
package enum DocumentFuzzing {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
    private static let count = environment["FUZZ_DOCUMENTS"].flatMap { Int($0) } ?? 400

    /// Calls `body` with the path of a file, and prints what the file has then: the document that was harmful.
    package static func withReport(_ body: (_ path: String) async -> Void) async {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        await body(path)
        // Not `String(contentsOfFile:)`: it leaks when the file is empty.
        let text = FileHandle(forReadingAtPath: path)?.readDataToEndOfFile() ?? Data()
        if !text.isEmpty { print(String(decoding: text, as: UTF8.self).prefix(4000)) }
    }

    /// Plays documents; exits with a failure at the first that does harm.
    ///
    /// - Parameters:
    ///   - path: Of the file that has the present document.
    ///   - play: Returns what was wrong.
    package static func play(
        _ samples: [String], words: [String], reportingTo path: String, _ play: ([UInt8]) -> String?
    ) {
        var mutator = DocumentMutator(seed: seed, samples: samples, words: words)
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        let file = FileHandle(forWritingAtPath: path)!
        for number in 0..<count {
            let document = mutator.next()
            try! file.truncate(atOffset: 0)
            try! file.seek(toOffset: 0)
            file.write(Data("document \(number) of seed \(seed):\n".utf8) + Data(document))
            // Ends a process that hangs.
            alarm(60)
            guard let complaint = play(document) else { continue }
            file.write(Data("\n\(complaint)\n".utf8))
            exit(1)
        }
        alarm(0)
        try! file.truncate(atOffset: 0)
    }

    /// What is wrong with a message; nil if it is one printable line of bounded length.
    package static func complaint(about text: String) -> String? {
        guard text == text.printable else { return "unprintable: \(text.debugDescription)" }
        return text.count > 1000 ? "a message of \(text.count) characters: \(text.prefix(200))" : nil
    }
}
