/// What a descriptor is watched for, or was found ready for: epoll's bits, which on Linux are poll's too.
struct PollEvents: OptionSet, Sendable {
    let rawValue: UInt32

    static let read = PollEvents(rawValue: 0x001)
    static let priority = PollEvents(rawValue: 0x002)
    static let write = PollEvents(rawValue: 0x004)
    /// Reported whether asked for or not, as is `hangUp`.
    static let error = PollEvents(rawValue: 0x008)
    static let hangUp = PollEvents(rawValue: 0x010)
    static let readHangUp = PollEvents(rawValue: 0x2000)
    /// Report changes only. Not an event, and none of poll's.
    static let edge = PollEvents(rawValue: 1 << 31)
}

/// A descriptor that an epoll set is to watch, and what for; nil for nothing at the moment.
struct Watch {
    let descriptor: Descriptor
    let events: PollEvents?
}
