import Foundation
import Testing

/// A table of an article, which a test compares with what happens.
enum DocumentedTable {
    /// The cells of the rows below a header.
    static func rows(of article: String, below header: [String]) throws -> [[String]] {
        let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let file = package.appending(path: "Sources/RunLoopKit/RunLoopKit.docc/Articles/\(article).md")
        let rows = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n").map(cells)
        let start = try #require(rows.firstIndex(of: header), "\(article) has no table \(header)")
        return Array(rows[(start + 2)...].prefix { !$0.isEmpty })
    }

    /// None outside of a table.
    private static func cells(of line: String) -> [String] {
        guard line.hasPrefix("| ") else { return [] }
        return line.dropFirst().dropLast().components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
