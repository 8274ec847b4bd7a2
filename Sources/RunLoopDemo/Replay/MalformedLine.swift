import Foundation

/// What is wrong with a line, in one line.
struct MalformedLine: Error {
    let message: String

    init(_ message: String) { self.message = message }

    /// - Parameter error: What the decoder threw.
    init(_ error: any Error, in line: Data) {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            let place = JSONPlace(context.codingPath).text
            message = place.isEmpty ? "\"\(key.stringValue)\" is missing" : "\(place) has no \"\(key.stringValue)\""
        case DecodingError.typeMismatch(let type, let context):
            message = "\(MalformedLine.subject(context)) is not \(MalformedLine.words(for: type))"
        case DecodingError.valueNotFound(let type, let context):
            message = "\(MalformedLine.subject(context)) is null, not \(MalformedLine.words(for: type))"
        default:
            message = MalformedLine.secondLook(at: line)
        }
    }

    private static func subject(_ context: DecodingError.Context) -> String {
        context.codingPath.isEmpty ? "the line" : JSONPlace(context.codingPath).text
    }

    private static func words(for type: any Any.Type) -> String {
        switch type {
        case is Int64.Type: "a whole number"
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is [Any].Type: "an array"
        default: "an object"
        }
    }

    /// The decoder says of no JSON, and of numbers that do not fit, only that something is corrupt.
    private static func secondLook(at line: Data) -> String {
        do {
            let value = try JSONSerialization.jsonObject(with: line, options: .fragmentsAllowed)
            guard let place = JSONPlace().firstUnfitNumber(in: value) else { return "not JSON" }
            return "\(place.text.isEmpty ? "the line" : place.text) is not a whole number of at most 64 bits"
        } catch {
            guard let reason = (error as NSError).userInfo["NSDebugDescription"] as? String else { return "not JSON" }
            return "not JSON: \(reason.prefix(1).lowercased())\(reason.dropFirst().prefix { $0 != "." })"
        }
    }
}

/// Where in a JSON text something is.
private struct JSONPlace {
    /// Such as `"ops"[3]."t"`; empty for the whole text.
    private(set) var text = ""

    init() {}

    init(_ path: [any CodingKey]) {
        self = path.reduce(JSONPlace()) { place, key in key.intValue.map { place[$0] } ?? place[key.stringValue] }
    }

    private subscript(key: String) -> JSONPlace {
        var place = self
        place.text += (text.isEmpty ? "" : ".") + key.debugDescription
        return place
    }

    private subscript(index: Int) -> JSONPlace {
        var place = self
        place.text += "[\(index)]"
        return place
    }

    /// A number that is no whole one, or needs more than 64 bits.
    func firstUnfitNumber(in value: Any) -> JSONPlace? {
        switch value {
        case let object as [String: Any]:
            object.sorted { $0.key < $1.key }.lazy.compactMap { self[$0.key].firstUnfitNumber(in: $0.value) }.first
        case let array as [Any]:
            array.enumerated().lazy.compactMap { self[$0.offset].firstUnfitNumber(in: $0.element) }.first
        case let number as NSNumber: Int64(exactly: number.doubleValue) == nil ? self : nil
        default: nil
        }
    }
}
