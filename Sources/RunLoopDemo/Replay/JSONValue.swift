/// A JSON value.
enum JSONValue {
    case null
    case boolean(Bool)
    /// As it is written: no digit is lost.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
}

/// A value in a JSON text, with its place there, which error messages name.
struct JSONPlace {
    let value: JSONValue

    /// Such as `"ops"[3]."t"`; empty for the whole text.
    private let path: String

    /// The whole text.
    init(_ value: JSONValue) { self.init(value, "") }

    private init(_ value: JSONValue, _ path: String) { (self.value, self.path) = (value, path) }

    /// As messages call it.
    var name: String { path.isEmpty ? "the line" : path }

    // MARK: Members

    /// A member of an object; nil when it is missing or null.
    func optional(_ key: String) throws(MalformedLine) -> JSONPlace? {
        guard case .object(let members) = value else { throw unexpected("an object") }
        switch members[key] {
        case nil, .null: return nil
        case let member?: return JSONPlace(member, path + (path.isEmpty ? "" : ".") + key.debugDescription)
        }
    }

    /// A member of an object.
    func member(_ key: String) throws(MalformedLine) -> JSONPlace {
        if let member = try optional(key) { return member }
        throw MalformedLine(
            path.isEmpty ? "\(key.debugDescription) is missing" : "\(path) has no \(key.debugDescription)")
    }

    // MARK: Values

    func elements() throws(MalformedLine) -> [JSONPlace] {
        guard case .array(let elements) = value else { throw unexpected("an array") }
        return elements.enumerated().map { JSONPlace($1, "\(path)[\($0)]") }
    }

    func string() throws(MalformedLine) -> String {
        guard case .string(let string) = value else { throw unexpected("a string") }
        return string
    }

    func boolean() throws(MalformedLine) -> Bool {
        guard case .boolean(let truth) = value else { throw unexpected("true or false") }
        return truth
    }

    /// A number without a fraction, however it is written: `100`, `1e2` and `100.0` are the same.
    func wholeNumber() throws(MalformedLine) -> Int64 {
        guard case .number(let text) = value else { throw unexpected("a whole number") }
        // Beyond 53 bits a `Double` is not exact.
        if let number = Int64(text) ?? Double(text).flatMap({ abs($0) < 0x1p53 ? Int64(exactly: $0) : nil }) {
            return number
        }
        throw MalformedLine("\(name) is \(text.abbreviated), not a whole number of at most 64 bits")
    }

    private func unexpected(_ wanted: String) -> MalformedLine {
        if case .null = value { return MalformedLine("\(name) is null, not \(wanted)") }
        return MalformedLine("\(name) is not \(wanted)")
    }
}

extension String {
    /// Short enough for a message.
    var abbreviated: String { unicodeScalars.count <= 60 ? self : String(unicodeScalars.prefix(60)) + "…" }
}
