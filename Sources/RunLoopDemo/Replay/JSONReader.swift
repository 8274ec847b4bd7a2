/// Reads a JSON text strictly, as RFC 8259 defines it: Foundation's decoder takes trailing commas, names that come
/// twice, and other encodings than UTF-8.
struct JSONReader {
    /// So deeply arrays and objects may be nested: the reader calls itself for each.
    private static let deepest = 100

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    /// The value that the text is.
    static func read(_ bytes: [UInt8]) throws(MalformedLine) -> JSONValue {
        // UTF-8's, and those of UTF-16.
        if [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]].contains(where: bytes.starts(with:)) {
            throw MalformedLine("not JSON: it begins with a byte order mark, which UTF-8 does not need")
        }
        var reader = JSONReader(bytes: bytes)
        let value = try reader.value()
        reader.skipBlanks()
        guard reader.current == nil else { throw reader.failure("something follows the value") }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    // MARK: Values

    private mutating func value() throws(MalformedLine) -> JSONValue {
        skipBlanks()
        switch current {
        case UInt8(ascii: "{"): return .object(try nested { reader throws(MalformedLine) in try reader.object() })
        case UInt8(ascii: "["): return .array(try nested { reader throws(MalformedLine) in try reader.array() })
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"): return .number(try number())
        case let byte? where JSONReader.digits.contains(byte): return .number(try number())
        default:
            if take("true") { return .boolean(true) }
            if take("false") { return .boolean(false) }
            if take("null") { return .null }
            throw unexpected("a value")
        }
    }

    private mutating func nested<Result>(
        _ body: (inout JSONReader) throws(MalformedLine) -> Result
    ) throws(MalformedLine) -> Result {
        guard depth < JSONReader.deepest else { throw failure("nested more than \(JSONReader.deepest) deep") }
        depth += 1
        defer { depth -= 1 }
        position += 1
        return try body(&self)
    }

    private mutating func object() throws(MalformedLine) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        if takeAfterBlanks("}") { return members }
        repeat {
            skipBlanks()
            guard current == UInt8(ascii: "\"") else { throw unexpected("a member's name") }
            let name = try string()
            // Two that are canonically equivalent are the same to a `String`, too.
            guard members[name] == nil else {
                throw failure("the name \(name.abbreviated.debugDescription) comes twice")
            }
            guard takeAfterBlanks(":") else { throw unexpected("a colon") }
            members[name] = try value()
        } while takeAfterBlanks(",")
        guard takeAfterBlanks("}") else { throw unexpected("a comma or the end of the object") }
        return members
    }

    private mutating func array() throws(MalformedLine) -> [JSONValue] {
        var elements: [JSONValue] = []
        if takeAfterBlanks("]") { return elements }
        repeat { elements.append(try value()) } while takeAfterBlanks(",")
        guard takeAfterBlanks("]") else { throw unexpected("a comma or the end of the array") }
        return elements
    }

    // MARK: Numbers

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// As it is written.
    private mutating func number() throws(MalformedLine) -> String {
        let start = position
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// At least one.
    private mutating func digits() throws(MalformedLine) {
        let start = position
        while let byte = current, JSONReader.digits.contains(byte) { position += 1 }
        if position == start { throw unexpected("a digit") }
    }

    // MARK: Strings

    private mutating func string() throws(MalformedLine) -> String {
        position += 1
        var text = ""
        while true {
            text += try plainText()
            if take("\"") { return text }
            guard take("\\") else { throw unexpected("the end of a string") }
            text.unicodeScalars.append(try escape())
        }
    }

    /// Up to a quotation mark, a backslash, or what may not be in a string.
    private mutating func plainText() throws(MalformedLine) -> String {
        let start = position
        while let byte = current, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { position += 1 }
        guard let text = String(validating: bytes[start..<position], as: UTF8.self) else {
            position = start
            throw failure("what follows is not UTF-8")
        }
        return text
    }

    /// What follows a backslash.
    private mutating func escape() throws(MalformedLine) -> Unicode.Scalar {
        if take("u") { return try hexadecimalEscape() }
        guard let byte = current, let scalar = JSONReader.escapes[byte] else { throw unexpected("an escape") }
        position += 1
        return scalar
    }

    private static let escapes: [UInt8: Unicode.Scalar] = [
        UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: "b"): "\u{8}",
        UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
    ]

    /// Four digits, or twice four for a pair of surrogates.
    private mutating func hexadecimalEscape() throws(MalformedLine) -> Unicode.Scalar {
        let unit = try codeUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(unit), take("\\u") else { throw failure("half a surrogate pair") }
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second) else { throw failure("half a surrogate pair") }
        return Unicode.Scalar(0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(second & 0x3FF)))!
    }

    private mutating func codeUnit() throws(MalformedLine) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 1...4 {
            guard let digit = current.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
                throw unexpected("a hexadecimal digit")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    // MARK: Bytes

    /// Nil at the end.
    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipBlanks() {
        while let byte = current, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    /// Whether `text` follows, which is then behind us.
    private mutating func take(_ text: StaticString) -> Bool {
        let end = position + text.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        for (offset, place) in (position..<end).enumerated() where bytes[place] != text.utf8Start[offset] {
            return false
        }
        position = end
        return true
    }

    private mutating func takeAfterBlanks(_ text: StaticString) -> Bool {
        skipBlanks()
        return take(text)
    }

    // MARK: Failures

    private func failure(_ what: String) -> MalformedLine {
        MalformedLine("not JSON: \(what) (at byte \(position + 1))")
    }

    private func unexpected(_ wanted: String) -> MalformedLine {
        failure(current == nil ? "it ends where \(wanted) should be" : "expected \(wanted)")
    }
}
