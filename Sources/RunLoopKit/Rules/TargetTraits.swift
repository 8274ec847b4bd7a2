/// What a message needs to know of its target: something else for an object than for a type.
@usableFromInline
struct TargetTraits<Target: Sendable>: Sendable {
    /// Which object it is; nil for a static message. Not the object: retaining it would cost more than all else.
    @usableFromInline let objectID: (@Sendable (Target) -> ObjectIdentifier)?
    /// The target's type; for a static message the target itself.
    @usableFromInline let type: @Sendable (Target) -> Any.Type
    /// Whether it is an object whose `deinit` runs: nothing may keep it any more.
    @usableFromInline let isGoing: @Sendable (Target) -> Bool
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
        TargetTraits(objectID: nil, type: { $0 }, isGoing: { _ in false })
    }
}
