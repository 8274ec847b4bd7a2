// Decodes a snapshot field by field, so that an error names the field and what would be valid.

import RunLoopKit

extension RuleEngine.Snapshot {
    /// Decodes a snapshot. Checks the version before anything else.
    public init(from decoder: any Decoder) throws {
        let fields = try Fields(decoder, CodingKeys.self, mustBe: "an object with \"version\" and \"rules\"")
        version = try fields.read(.version, mustBe: "a whole number: \(Self.currentVersion)")
        guard version == Self.currentVersion else { throw MethodRuleError.unknownVersion(version) }
        rules = try fields.read(.rules, mustBe: "a list of rules")
    }
}

extension RuleEngine.Snapshot.Rule {
    /// Decodes a rule.
    public init(from decoder: any Decoder) throws {
        var fields = try Fields(decoder, CodingKeys.self, mustBe: "an object with the fields of a rule")
        let nameOfType = "the name of a type as the compiler mangles it, of at most \(longestTypeName) bytes"
        method = try fields.read(.method, mustBe: "the name of a method")
        fields.method = method
        target = try fields.read(.target, mustBe: nameOfType, Self.isNameOfType)
        fields.target = target
        type = try fields.read(.type, mustBe: nameOfType, Self.isNameOfType)
        isStatic = try fields.read(.isStatic, mustBe: "true or false")
        let range = Self.intervals
        intervalNanoseconds = try fields.read(
            .intervalNanoseconds,
            mustBe: "a whole number from 0, which is no limit, to \(range.upperBound), which is a hundred years",
            range.contains)
        let modes = AnyMethodRule.Mode.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        mode = try fields.read(.mode, mustBe: "one of \(modes)")
        // Absent where no window went on, and in what earlier releases have saved.
        windowStartNanoseconds =
            fields.container.contains(.windowStartNanoseconds)
            ? try fields.read(
                .windowStartNanoseconds, mustBe: "a whole number from 0, or absent", Self.windowStarts.contains)
            : nil
    }

    private static func isNameOfType(_ text: String) -> Bool { !text.isEmpty && text.utf8.count <= longestTypeName }
}

/// The fields of a rule or of the snapshot, while it is decoded.
private struct Fields<Key: CodingKey> {
    let container: KeyedDecodingContainer<Key>
    /// The index of the rule in its list, from the coding path.
    let index: Int?
    var method: String?
    var target: String?

    init(_ decoder: any Decoder, _ keys: Key.Type, mustBe right: String) throws {
        index = decoder.codingPath.last?.intValue
        do {
            container = try decoder.container(keyedBy: keys)
        } catch is DecodingError {
            throw MethodRuleError.invalidSnapshot(
                .init(index: index, method: nil, target: nil, field: nil, reason: "must be \(right)"))
        }
    }

    func read<Value: Decodable>(
        _ key: Key, mustBe right: String, _ isRight: (Value) -> Bool = { _ in true }
    ) throws -> Value {
        do {
            let value = try container.decode(Value.self, forKey: key)
            if isRight(value) { return value }
        } catch let error as MethodRuleError {
            throw error  // From a rule of the list.
        } catch {
            // Not only decoding errors: for numbers out of range Foundation's coder throws others.
        }
        throw MethodRuleError.invalidSnapshot(
            .init(
                index: index, method: method, target: target, field: key.stringValue,
                reason: "\(finding(key)); it must be \(right)"))
    }

    /// Describes the value of a field.
    private func finding(_ key: Key) -> String {
        func has<Value: Decodable>(_: Value.Type) -> Value? { try? container.decode(Value.self, forKey: key) }
        if !container.contains(key) { return "is missing" }
        if (try? container.decodeNil(forKey: key)) == true { return "is null" }
        if let text = has(String.self) { return "is \"\(text.excerpt)\"" }
        if let number = has(Int64.self) { return "is \(number)" }
        if let number = has(Double.self) { return "is \(number)" }
        if let truth = has(Bool.self) { return "is \(truth)" }
        return "is something else"
    }
}
