internal import CLinux

/// A file descriptor's number.
typealias Descriptor = Int32

extension System {
    static func close(_ descriptor: Descriptor) {
        // On Linux EINTR means closed too: a close is never repeated.
        _ = clinux_close(descriptor)
    }

    /// Returns another number for the same open file.
    static func duplicate(_ descriptor: Descriptor) throws(LoopError) -> Descriptor {
        try check("fcntl(\(descriptor), F_DUPFD_CLOEXEC)", clinux_duplicate(descriptor))
    }

    /// Whether a descriptor is readable now. Consumes nothing, so the descriptor may be an epoll set.
    static func isReadable(_ descriptor: Descriptor) -> Bool { !readiness(of: descriptor, for: .read).isEmpty }

    /// Waits until a descriptor is readable, without consuming anything; returns early when a Unix signal interrupts.
    static func waitUntilReadable(_ descriptor: Descriptor) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&request, 1, -1)
    }

    /// Returns the part of `events` that a descriptor is ready for now, with hang-ups and errors. Consumes nothing.
    static func readiness(of descriptor: Descriptor, for events: PollEvents) -> PollEvents {
        var request = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events.rawValue), revents: 0)
        // A poll without a wait is never interrupted by a signal.
        let count = clinux_poll(&request, 1)
        return count > 0 ? PollEvents(rawValue: UInt32(UInt16(bitPattern: request.revents))) : []
    }

    /// How many bytes wait to be read from a descriptor, and how many to be sent; -1 where the kernel does not know.
    static func waitingBytes(in descriptor: Descriptor) -> (unread: Int32, unsent: Int32) {
        (clinux_unread(descriptor), clinux_unsent(descriptor))
    }

    /// Writes one line to stderr in one call.
    static func complain(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = bytes.withUnsafeBytes { clinux_write(STDERR_FILENO, $0.baseAddress, UInt($0.count)) }
    }
}
