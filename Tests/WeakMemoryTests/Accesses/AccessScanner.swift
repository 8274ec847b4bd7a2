import Foundation
import WeakMemory

/// An atomic access in the library's sources.
struct SourceAccess: Hashable {
    /// Relative to `Sources`.
    let file: String
    let function: String
    /// The variable and the operation, such as `word.exchange`.
    let access: String
    /// The order; of a compare-exchange also that of its failure, behind a slash.
    let orders: String

    var text: String { "\(file) \(function) \(access) \(orders)" }
}

/// Finds the atomic accesses in source files: calls with an `ordering:` in Swift, and `__atomic_…` in C.
struct AccessScanner {
    private let file: String
    private let lines: [String]

    static let sources = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources").standardizedFileURL

    static func all() throws -> [SourceAccess] {
        let folders = ["CLinux", "RunLoopDiagnostics", "RunLoopKit", "RunLoopRules"]
        var paths: [String] = []
        for folder in folders {
            let found = try FileManager.default.subpathsOfDirectory(atPath: sources.appending(path: folder).path)
            paths += found.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".h") }.map { "\(folder)/\($0)" }
        }
        return try paths.filter { !$0.contains(".docc/") }.sorted().flatMap(accesses)
    }

    private static func accesses(in path: String) throws -> [SourceAccess] {
        let data = try Data(contentsOf: sources.appending(path: path))
        // Most files have none.
        let marks = ["rdering: .", "__atomic_"].map { Data($0.utf8) }
        guard marks.contains(where: { data.range(of: $0) != nil }) else { return [] }
        return AccessScanner(path, String(decoding: data, as: UTF8.self)).accesses()
    }

    init(_ file: String, _ text: String) {
        self.file = file
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            // No string of the library contains two slashes before an access.
            line.utf8.contains(UInt8(ascii: "/"))
                ? String(line.prefix(upTo: AccessScanner.comment(in: line))) : String(line)
        }
    }

    private static func comment(in line: Substring) -> String.Index {
        line.firstRange(of: "//")?.lowerBound ?? line.endIndex
    }

    func accesses() -> [SourceAccess] { file.hasSuffix(".h") ? accessesOfC() : accessesOfSwift() }

    // MARK: Swift

    private func accessesOfSwift() -> [SourceAccess] {
        let order = /(?i:ordering): \.(\w+)(?:,\s*failureOrdering: \.(\w+))?/
        return lines.indices.flatMap { index -> [SourceAccess] in
            // Not on a line that has only the order of a failure.
            let hasOrder = lines[index].contains("ordering: .") || lines[index].contains("successOrdering: .")
            guard hasOrder else { return [] }
            // The arguments of one call may be on several lines.
            let first = max(0, index - 6)
            let before = lines[first..<index].joined(separator: "\n") + "\n"
            let next = index + 1 < lines.count ? lines[index + 1] : ""
            let text = before + lines[index] + "\n" + next
            let range = text.index(text.startIndex, offsetBy: before.count)
            let end = text.index(range, offsetBy: lines[index].count)
            return text[range...].matches(of: order).filter { $0.range.lowerBound < end }.compactMap { match in
                guard let call = call(around: text[..<match.range.lowerBound]) else { return nil }
                let orders = "\(match.1)" + (match.2.map { "/\($0)" } ?? "")
                return SourceAccess(file: file, function: function(at: index), access: call, orders: orders)
            }
        }
    }

    /// The expression before the parenthesis that is still open at the end of a text.
    private func call(around text: Substring) -> String? {
        var depth = 0
        var index = text.endIndex
        while index > text.startIndex {
            index = text.index(before: index)
            if text[index] == ")" { depth += 1 }
            if text[index] == "(" {
                if depth == 0 { return expression(before: text[..<index]) }
                depth -= 1
            }
        }
        return nil
    }

    /// The last two names of an expression, without what is in brackets.
    private func expression(before text: Substring) -> String {
        var result = ""
        var depth = 0
        for character in text.reversed() {
            if character == "]" || character == ")" { depth += 1 }
            let isInside = depth > 0
            if character == "[" || character == "(" { depth -= 1 }
            if depth < 0 { break }
            if isInside { continue }
            guard character.isLetter || character.isNumber || "._?!".contains(character) else { break }
            result.append(character)
        }
        let names = result.reversed().split(whereSeparator: { ".?!".contains($0) }).map { String($0) }
        return names.filter { $0 != "pointee" }.suffix(2).joined(separator: ".")
    }

    /// The function or property that contains a line.
    private func function(at index: Int) -> String {
        let declaration = /\b(?:func|var|let) (\w+)|\b(init|deinit|subscript)\b(?=[(< {?])/
        func indentation(_ line: String) -> Int { line.prefix { $0 == " " }.count }
        var limit = indentation(lines[index]) + 1
        for line in lines[...index].reversed() where indentation(line) < limit && !line.isEmpty {
            limit = indentation(line)
            let words = ["func ", "var ", "let ", "init", "subscript"]
            guard words.contains(where: { line.contains($0) }) else { continue }
            let isLocal = line.firstMatch(of: /^ *(guard |if |while )?(let|var) \w+( = |: [^{]*$)/) != nil
            guard !isLocal, let match = line.firstMatch(of: declaration) else { continue }
            return String(match.1 ?? match.2!)
        }
        return "-"
    }

    // MARK: C

    private func accessesOfC() -> [SourceAccess] {
        let orders = /__ATOMIC_(\w+)/
        let names = [
            "RELAXED": "relaxed", "ACQUIRE": "acquiring", "RELEASE": "releasing", "ACQ_REL": "acquiringAndReleasing",
            "SEQ_CST": "sequentiallyConsistent",
        ]
        let text = lines.joined(separator: "\n")
        return text.matches(of: /__atomic_(\w+?)(?:_n)?\(\s*([^,]*),[^;{]*/).map { match in
            let variable = match.2.matches(of: /\w+/).last { Int($0.0) == nil && $0.0 != "signal" }.map { "\($0.0)" }
            let found = match.0.matches(of: orders).map { names[String($0.1)] ?? "?" }
            let line = text[..<match.range.lowerBound].count { $0 == "\n" }
            let index = lines[...line].lastIndex { $0.hasPrefix("static inline ") || $0.hasPrefix("CLINUX_ONE ") }
            let function = index.flatMap { lines[$0].firstMatch(of: /(\w+)\(/) }.map { "\($0.1)" }
            let count = match.1 == "compare_exchange" ? 2 : 1
            return SourceAccess(
                file: file, function: function ?? "-", access: "\(variable ?? "-").\(match.1)",
                orders: found.prefix(count).joined(separator: "/"))
        }
    }
}
