// Types as values: how they are related, and what they are called. Nothing here needs Objective-C.

/// Whether `type` is `other` or a class below it.
func isSubtype(_ type: Any.Type, of other: Any.Type) -> Bool {
    func isOrInherits<Other>(_: Other.Type) -> Bool { type is Other.Type }
    return _openExistential(other, do: isOrInherits)
}

/// The classes above a class, from the lowest on; none for another type.
func superclasses(of type: Any.Type) -> [AnyClass] {
    var classes: [AnyClass] = []
    var next: AnyClass? = (type as? AnyClass).flatMap { _getSuperclass($0) }
    while let found = next {
        classes.append(found)
        next = _getSuperclass(found)
    }
    return classes
}

/// What a type is called at every start of the program; nil when it has no such name, being private or local.
///
/// The mangled name, since the runtime finds a type by that.
func lastingName(of type: Any.Type) -> String? {
    // The names of private types contain an address, and lead nowhere.
    guard let name = _mangledTypeName(type), let found = _typeByName(name), found == type else { return nil }
    return name
}

/// The type of a lasting name; nil if there is none.
func type(withLastingName name: String) -> Any.Type? { _typeByName(name) }
