/// Makes documents that are nearly valid: the same ones from the same seed.
package struct DocumentMutator {
    private var random: SplitMix
    private let samples: [[UInt8]]
    private let words: [[UInt8]]

    /// - Parameters:
    ///   - samples: Valid documents.
    ///   - words: Names and numbers to put into them, besides those that no format likes.
    package init(seed: UInt64, samples: [String], words: [String]) {
        random = SplitMix(seed)
        self.samples = samples.map { Array($0.utf8) }
        self.words = (words + DocumentMutator.words).map { Array($0.utf8) }
    }

    private static let words = [
        "", "0", "-1", "0.5", "1e400", "-0", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
        "null", "true", "[]", "{}", "\"", "\\", "\\u0000", "\\u001B[2J", "\\u202E", "\\uD800", "\u{1B}", "\u{0}", "🙂",
        "\n", ",", ":",
    ]

    /// The next document. Most are valid JSON with another value in one or two places, so that they get past the
    /// parser; the others are broken anywhere.
    package mutating func next() -> [UInt8] {
        var document = random.pick(samples)
        if random.once(in: 3) {
            for _ in 0...random.below(4) { breakUp(&document) }
        } else {
            for _ in 0...random.below(2) {
                if random.once(in: 3) { replaceNumber(in: &document) } else { replaceText(in: &document) }
            }
        }
        return document
    }

    private mutating func breakUp(_ document: inout [UInt8]) {
        switch random.below(7) {
        case 0: replaceText(in: &document)
        case 1: replaceNumber(in: &document)
        case 2: document.replaceSubrange(range(in: document), with: random.pick(words))
        case 3: document.insert(contentsOf: document[range(in: document)], at: random.below(document.count + 1))
        case 4: document.insert(contentsOf: random.pick(samples), at: random.below(document.count + 1))
        case 5:
            let opening = random.pick(["[", "{\"a\":", "\""])
            document.insert(
                contentsOf: Array(repeating: Array(opening.utf8), count: 1 << random.below(14)).joined(),
                at: random.below(document.count + 1))
        default:
            guard !document.isEmpty else { return }
            document[random.below(document.count)] = UInt8(truncatingIfNeeded: random.next())
        }
    }

    /// Replaces a text that is a member's value.
    private mutating func replaceText(in document: inout [UInt8]) {
        let opening = Array(":\"".utf8)
        let starts = document.indices.dropLast().filter { document[$0] == opening[0] && document[$0 + 1] == opening[1] }
        guard !starts.isEmpty else { return }
        let start = random.pick(starts) + 2
        guard let end = document[start...].firstIndex(of: opening[1]) else { return }
        var word = random.pick(words)
        if random.once(in: 8) { word = Array(repeating: word, count: 1 << random.below(13)).flatMap { $0 } }
        document.replaceSubrange(start..<end, with: word)
    }

    private mutating func replaceNumber(in document: inout [UInt8]) {
        func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
        let starts = document.indices.filter { isDigit(document[$0]) && ($0 == 0 || !isDigit(document[$0 - 1])) }
        guard !starts.isEmpty else { return }
        let start = random.pick(starts)
        let end = document[start...].firstIndex { !isDigit($0) } ?? document.endIndex
        document.replaceSubrange(start..<end, with: random.pick(words))
    }

    private mutating func range(in document: [UInt8]) -> Range<Int> {
        let start = random.below(document.count + 1)
        return start..<min(document.count, start + random.below(40))
    }
}

extension DocumentMutator {
    /// The names that crashed the runtime's look-up, and some more of what compilers write.
    package static let namesOfTypes = [
        "$5_", "$", "$94", "$n", "Say$5_G", "Si_$SSt", "Si", "SS", "yp", "SgSg", "1aV", "4main1aV", "_p", "XMTm",
    ]
}
