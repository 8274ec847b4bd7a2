import RunLoopKit

/// The calls of one name to one object, or to all objects of one type, within a pass.
final class CallTally {
    let subject: CountedSubject
    let name: String
    var count = 0

    /// Whether calls are dropped for the rest of the pass.
    var isDropped = false

    /// Whether a report of this pass has shown it as a part of its cycle.
    var isReported = false

    init(of subject: CountedSubject, _ name: String) { (self.subject, self.name) = (subject, name) }
}

/// What is counted: an object; a type, for its static methods; or a type with all its objects.
///
/// An object is not retained. Another object at its address is another subject: see `SubjectTable`.
final class CountedSubject {
    /// The object's, or the type's.
    let id: ObjectIdentifier
    /// The object's type; the metatype of a type whose static methods are counted.
    let type: Any.Type

    /// The object's name in reports; nil for its type's name.
    let label: String?

    /// Nil for a type, and for an object that is deallocated or whose `deinit` runs.
    private weak var object: AnyObject?

    /// Whether this is a type with all its objects.
    let isType: Bool
    private let canBeDeallocated: Bool

    init(_ object: AnyObject, label: String?) {
        (id, type, isType) = (ObjectIdentifier(object), Swift.type(of: object), false)
        (self.label, canBeDeallocated) = (label, true)
        self.object = object
    }

    init(type: Any.Type) {
        (id, self.type, label, isType, canBeDeallocated) = (ObjectIdentifier(type), type, nil, true, false)
    }

    init(metatype type: Any.Type) {
        (id, self.type) = (ObjectIdentifier(type), Swift.type(of: type as Any))
        (label, isType, canBeDeallocated) = (String(describing: type), false, false)
    }

    /// Whether this is the object's subject, if its address is. Only one object can live at an address, so it is if the
    /// weak reference is not nil. Releasing that reference deallocates nothing: the caller has another.
    var isAlive: Bool { !canBeDeallocated || object != nil }

    func makeTally(_ name: String) -> CallTally { CallTally(of: self, name) }
}
