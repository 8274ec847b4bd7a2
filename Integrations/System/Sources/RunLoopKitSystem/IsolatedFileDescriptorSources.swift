public import RunLoopKit
public import SystemPackage

// Sources whose handlers are isolated to an actor on the loop, or to the main actor.

extension Loop.FileDescriptorSource {
    /// Makes a source for a descriptor that the caller owns, with a handler that is isolated to an actor on the loop.
    /// Otherwise as `init(_:interest:trigger:isOneShot:isolation:label:file:line:handler:)` for a descriptor's number.
    public convenience init<A: Actor>(
        _ descriptor: FileDescriptor, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
        isolation actor: A, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler:
            @escaping @Sendable (_ actor: isolated A, _ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) throws(LoopError) {
        try self.init(
            descriptor.rawValue, interest: interest, trigger: trigger, isOneShot: isOneShot, isolation: actor,
            label: label, file: file, line: line, handler: handler)
    }

    /// Makes a source that owns its descriptor, with a handler that is isolated to an actor on the loop. Otherwise as
    /// `init(owning:interest:trigger:isOneShot:isolation:label:file:line:handler:)` for a descriptor's number.
    public convenience init<A: Actor>(
        owning descriptor: FileDescriptor, interest: Interest = .read, trigger: Trigger = .level,
        isOneShot: Bool = false, isolation actor: A, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler:
            @escaping @Sendable (_ actor: isolated A, _ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) throws(LoopError) {
        try self.init(
            owning: descriptor.rawValue, interest: interest, trigger: trigger, isOneShot: isOneShot, isolation: actor,
            label: label, file: file, line: line, handler: handler)
    }

    /// Makes a source for `Loop.main`, for a descriptor that the caller owns, with a handler of the main actor. Another
    /// loop refuses it.
    public convenience init(
        _ descriptor: FileDescriptor, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
        isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) throws(LoopError) {
        try self.init(
            descriptor.rawValue, interest: interest, trigger: trigger, isOneShot: isOneShot, isolation: mainActor,
            label: label, file: file, line: line, handler: handler)
    }

    /// Makes a source for `Loop.main` that owns its descriptor, with a handler of the main actor.
    public convenience init(
        owning descriptor: FileDescriptor, interest: Interest = .read, trigger: Trigger = .level,
        isOneShot: Bool = false, isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @MainActor (_ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) throws(LoopError) {
        try self.init(
            owning: descriptor.rawValue, interest: interest, trigger: trigger, isOneShot: isOneShot,
            isolation: mainActor, label: label, file: file, line: line, handler: handler)
    }
}
