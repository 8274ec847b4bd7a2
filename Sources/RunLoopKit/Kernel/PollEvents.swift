/// The events that a descriptor is watched for, or is ready for: epoll's bits, which on Linux are poll's too.
struct PollEvents: OptionSet, Sendable {
    let rawValue: UInt32

    static let read = PollEvents(rawValue: 0x001)
    static let priority = PollEvents(rawValue: 0x002)
    static let write = PollEvents(rawValue: 0x004)
    /// Always reported, as is `hangUp`.
    static let error = PollEvents(rawValue: 0x008)
    static let hangUp = PollEvents(rawValue: 0x010)
    /// Not open. Reported by poll only.
    static let closed = PollEvents(rawValue: 0x020)
    static let readHangUp = PollEvents(rawValue: 0x2000)
    /// Reports changes only. No event, and no bit of poll's.
    static let edge = PollEvents(rawValue: 1 << 31)
    /// Wakes one of several epoll sets only. As `edge` no event. The kernel permits it with `read`, `write` and `edge`.
    static let exclusive = PollEvents(rawValue: 1 << 28)
}

/// A descriptor that an epoll set watches, and the events; nil while there are none.
struct Watch {
    let descriptor: Descriptor
    let events: PollEvents?

    /// Whether the set may lack the descriptor although there are events, since they have just changed.
    var mayBeMissing = false
}
