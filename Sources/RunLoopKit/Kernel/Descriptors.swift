internal import CLinux

/// A file descriptor's number.
typealias Descriptor = Int32

// What can be done with any descriptor.

extension System {
    static func close(_ descriptor: Descriptor) {
        // EINTR too means closed on Linux: never repeat a close.
        _ = clinux_close(descriptor)
    }

    /// Another number for the same open file.
    static func duplicate(_ descriptor: Descriptor) throws(LoopError) -> Descriptor {
        try check("fcntl(\(descriptor), F_DUPFD_CLOEXEC)", clinux_duplicate(descriptor))
    }

    /// Whether a descriptor is readable now. Looks without consuming anything, so it may be asked of an epoll set.
    static func isReadable(_ descriptor: Descriptor) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return clinux_poll(&request, 1) > 0
    }

    /// Waits until a descriptor is readable, without consuming anything; returns early when a Unix signal interrupts.
    static func waitUntilReadable(_ descriptor: Descriptor) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&request, 1, -1)
    }

    /// What of `events` a descriptor is ready for now, and whether it has hung up or failed. Consumes nothing.
    static func readiness(of descriptor: Descriptor, for events: PollEvents) -> PollEvents {
        var request = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events.rawValue), revents: 0)
        // With no time to wait there is nothing that a signal could interrupt.
        let count = clinux_poll(&request, 1)
        return count > 0 ? PollEvents(rawValue: UInt32(UInt16(bitPattern: request.revents))) : []
    }

    /// One line on stderr, written at once.
    static func complain(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = bytes.withUnsafeBytes { clinux_write(STDERR_FILENO, $0.baseAddress, UInt($0.count)) }
    }
}
