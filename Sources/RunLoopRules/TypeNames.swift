// Types as values: their relations and their names. Nothing here needs Objective-C.

import RunLoopKit

/// Whether `type` is `other` or a class below it.
func isSubtype(_ type: Any.Type, of other: Any.Type) -> Bool {
    func isOrInherits<Other>(_: Other.Type) -> Bool { type is Other.Type }
    return _openExistential(other, do: isOrInherits)
}

/// Whether one of two types is the other or a class below it.
func areRelated(_ one: Any.Type, _ other: Any.Type) -> Bool { isSubtype(one, of: other) || isSubtype(other, of: one) }

/// The longest name of a type in a snapshot, in bytes.
let longestTypeName = 4096

/// The name that a type has at every start of the program: its mangled name. Nil for a private or local type, which has
/// no such name, and for a name that is too long for a snapshot.
func lastingName(of type: Any.Type) -> String? {
    guard let name = _mangledTypeName(type), name.utf8.count <= longestTypeName else { return nil }
    return containsAddress(name) ? nil : name
}

/// Whether a mangled name contains the address of a private or local context, as `1a13$55ac91cee098yXZ6HiddenC` does.
private func containsAddress(_ name: String) -> Bool {
    name.split(separator: "$", omittingEmptySubsequences: false).dropFirst().contains { part in
        part.drop { $0.isHexDigit }.hasPrefix("yXZ")
    }
}

/// The types that the program has shown, by their lasting names.
///
/// A name from a snapshot is compared with these, and never handed to the runtime. The runtime's look-up of a mangled
/// name parses what the compiler has written, and ends the process for much that the compiler never writes.
struct KnownTypes {
    private var types: [String: Any.Type] = [:]

    subscript(name: String) -> Any.Type? { types[name] }

    /// Learns a type and the classes above it, so that it knows either all of a type's superclasses or none.
    ///
    /// - Returns: The names that it did not know.
    mutating func learn(_ type: Any.Type) -> Set<String> {
        var new: Set<String> = []
        var next: Any.Type? = type
        while let type = next {
            if let name = lastingName(of: type), types.updateValue(type, forKey: name) == nil { new.insert(name) }
            next = (type as? AnyClass).flatMap { _getSuperclass($0) }
        }
        return new
    }
}
