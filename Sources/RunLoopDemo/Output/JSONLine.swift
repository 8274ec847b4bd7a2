/// A JSON object on one line, made key by key.
struct JSONLine {
    private var members: [String] = []

    mutating func add(_ key: String, _ number: Int64) { members.append("\(quoted(key)):\(number)") }

    mutating func add(_ key: String, _ truth: Bool) { members.append("\(quoted(key)):\(truth)") }

    mutating func addNull(_ key: String) { members.append("\(quoted(key)):null") }

    mutating func add(_ key: String, _ string: String) { members.append("\(quoted(key)):\(quoted(string))") }

    mutating func add(_ key: String, _ strings: [String]) {
        members.append("\(quoted(key)):[\(strings.map(quoted).joined(separator: ","))]")
    }

    /// The object, with the line's end.
    var text: String { "{\(members.joined(separator: ","))}\n" }

    /// JSON requires escapes for the quotation mark, the backslash and control characters. This also escapes all other
    /// unprintable characters: people read JSON, too.
    private func quoted(_ string: String) -> String {
        var result = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case _ where scalar.isPrintable: result.unicodeScalars.append(scalar)
            default: for unit in UTF16.encode(scalar)! { result += "\\u" + hexadecimal(unit) }
            }
        }
        return result + "\""
    }

    private func hexadecimal(_ value: UInt16) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}
