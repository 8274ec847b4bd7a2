internal import CLinux

/// An eventfd: a kernel counter that makes a descriptor readable when something is added to it.
///
/// It is watched edge-triggered and, with one exception, never read: every addition is a new edge, and a read would
/// cost a system call for each wake-up.
struct EventFD: ~Copyable, Sendable {
    let descriptor: Descriptor
    private let process = ProcessMark.current

    init() throws(LoopError) { descriptor = try System.makeEventFD() }

    deinit { System.close(descriptor) }

    /// Whether it was made before a fork, and this process is the child.
    borrowing func isOfParent() -> Bool { !process.isCurrent }

    /// Adds one. Does nothing in a forked child. Async-signal-safe.
    borrowing func signal() { if process.isCurrent { System.signal(eventFD: descriptor) } }
}

extension System {
    /// Makes an eventfd with the count zero. It is non-blocking, so a read never waits.
    static func makeEventFD() throws(LoopError) -> Descriptor {
        try aboveStreams(check("eventfd", eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))))
    }

    /// Puts a new eventfd, to which 1 was added, in the place of one that a forked child may share with its parent.
    static func replace(eventFDOfParent descriptor: Descriptor) throws(LoopError) {
        let own = try makeEventFD()
        defer { close(own) }
        _ = try check("dup3", clinux_dup3(own, descriptor))
        // What was added to the old one in this process may have been lost.
        signal(eventFD: descriptor)
    }

    /// Adds 1 to an eventfd. Async-signal-safe: no lock, no allocation, errno kept. Traps on a failure, since a wake-up
    /// would be lost.
    ///
    /// A count that cannot grow (EAGAIN) is read first, and begins again at zero: the descriptor would stay readable,
    /// but an edge-triggered set sees only a write that succeeds. The library alone cannot get so far.
    ///
    /// Another file in its place may take the write. A debug build notices: it first writes nothing, which an eventfd
    /// refuses.
    static func signal(eventFD: Descriptor) {
        let saved = clinux_errno()
        assert(refusesToWriteNothing(eventFD))
        var one: UInt64 = 1
        while true {
            let written = clinux_write(eventFD, &one, 8)
            if written == 8 { break }
            let error = written < 0 ? clinux_errno() : 0
            if error == EAGAIN { _ = drain(eventFD: eventFD) }
            if error == EAGAIN || error == EINTR { continue }
            clinux_descriptor_failed("write", "eventfd", eventFD, -1, written)
        }
        clinux_set_errno(saved)
    }

    /// Traps if a file that is no eventfd is in its place. Async-signal-safe.
    private static func refusesToWriteNothing(_ eventFD: Descriptor) -> Bool {
        // Of no build but this one: no fault of a test is spent on it.
        if CLinux.clinux_write(eventFD, nil, 0) < 0 { return true }
        clinux_descriptor_failed("write", "eventfd", eventFD, -1, 0)
    }

    /// Reads what was added to an eventfd since the last read; 0 if nothing was. Traps on a failure.
    static func drain(eventFD: Descriptor) -> UInt64 {
        var count: UInt64 = 0
        while true {
            let read = clinux_read(eventFD, &count, 8)
            if read == 8 { return count }
            if read < 0, clinux_errno() == EAGAIN { return 0 }
            if read >= 0 || clinux_errno() != EINTR { clinux_descriptor_failed("read", "eventfd", eventFD, -1, read) }
        }
    }
}
