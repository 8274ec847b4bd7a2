/// An eventfd: a kernel counter that makes a descriptor readable when something is added to it.
///
/// Watched edge-triggered and, as a rule, never read: every addition is a new edge, and a read would be a system
/// call for each wake-up.
struct EventFD: ~Copyable, Sendable {
    let descriptor: Descriptor
    private let process = ProcessMark.current

    init() throws(LoopError) { descriptor = try System.makeEventFD() }

    deinit { System.close(descriptor) }

    /// Adds one; nothing in a forked child. Async-signal-safe.
    borrowing func signal() { if process.isCurrent { System.signal(eventFD: descriptor) } }
}
