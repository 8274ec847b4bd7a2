/// Splits bytes into lines.
struct Lines {
    private var rest: [UInt8] = []

    /// The lines that these bytes complete.
    mutating func append(_ bytes: some Sequence<UInt8>) -> [String] {
        rest += bytes
        guard let last = rest.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        defer { rest.removeSubrange(...last) }
        return rest[..<last].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// The last line, if no line break ends it.
    mutating func finish() -> [String] {
        defer { rest = [] }
        return rest.isEmpty ? [] : [String(decoding: rest, as: UTF8.self)]
    }
}
