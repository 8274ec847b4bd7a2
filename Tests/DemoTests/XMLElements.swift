import Testing

/// The elements of an XML text, found with simple means, but strictly: every line is known.
struct XMLElements {
    private(set) var texts: Set<String> = []
    private(set) var classes: [String: Int] = [:]
    private var names: [String: Int] = [:]

    func count(_ name: String) -> Int { names[name] ?? 0 }

    init(_ text: String) throws {
        var open: [String] = []
        let tag = /<(\/?)([a-z]+)((?: [a-zA-Z:-]+="[^"<>&]*")*)(\/?)>([^<>]*)/
        let body = try #require(text.firstRange(of: "?>")).upperBound
        var rest = text[body...].drop { $0.isWhitespace }
        while let match = rest.prefixMatch(of: tag) {
            rest = rest[match.range.upperBound...]
            texts.insert(String(match.5))
            if match.1 == "/" {
                #expect(open.popLast() == String(match.2))
                continue
            }
            names[String(match.2), default: 0] += 1
            if let name = match.3.firstMatch(of: /class="([a-z]+)"/) { classes[String(name.1), default: 0] += 1 }
            if match.4 == "" { open.append(String(match.2)) }
        }
        #expect(rest.isEmpty && open.isEmpty)
    }
}
