// Types as values: their relations and their names. Nothing here needs Objective-C.

/// Whether `type` is `other` or a class below it.
func isSubtype(_ type: Any.Type, of other: Any.Type) -> Bool {
    func isOrInherits<Other>(_: Other.Type) -> Bool { type is Other.Type }
    return _openExistential(other, do: isOrInherits)
}

/// Whether one of two types is the other or a class below it.
func areRelated(_ one: Any.Type, _ other: Any.Type) -> Bool { isSubtype(one, of: other) || isSubtype(other, of: one) }

/// The name that a type has at every start of the program: its mangled name, by which the runtime finds it. Nil for a
/// private or local type, which has no such name.
func lastingName(of type: Any.Type) -> String? {
    // The name of a private type contains an address, and no lookup finds it.
    guard let name = _mangledTypeName(type), let found = _typeByName(name), found == type else { return nil }
    return name
}

/// The type with a lasting name; nil if the program has none.
func type(withLastingName name: String) -> Any.Type? { _typeByName(name) }
