import RunLoopKit

/// What a limited method needs to know of its target, which is an object or a type.
@usableFromInline
package struct TargetTraits<Target: Sendable>: Sendable {
    /// Identifies the object; nil for a static method. Not the object itself, since retaining it costs more than the
    /// rest of a call.
    @usableFromInline package let objectID: (@Sendable (Target) -> ObjectIdentifier)?
    /// Returns the target's type; for a static method the target itself.
    @usableFromInline package let type: @Sendable (Target) -> Any.Type
    /// Whether the target is an object whose `deinit` runs, and so must not be retained.
    @usableFromInline let isDeallocating: @Sendable (Target) -> Bool
}

extension TargetTraits where Target: AnyObject {
    static var object: TargetTraits {
        TargetTraits(objectID: { ObjectIdentifier($0) }, type: { Swift.type(of: $0) }) { target in
            weak let reference = target
            return reference == nil
        }
    }
}

extension TargetTraits {
    static func type<Declaring>() -> TargetTraits where Target == Declaring.Type {
        TargetTraits(objectID: nil, type: { $0 }, isDeallocating: { _ in false })
    }
}
