internal import CLinux

/// A file descriptor's number.
typealias Descriptor = Int32

extension System {
    static func close(_ descriptor: Descriptor) {
        // On Linux EINTR means closed too: a close is never repeated.
        _ = clinux_close(descriptor)
    }

    /// What to do about a call that fails as it only can if the program has closed a descriptor of the library's, or
    /// put another file in its place.
    static let foreignCloseAdvice = "the program has closed a descriptor of a loop: close only those that it has opened"

    /// Ends the process after such a call. To continue would lose what the descriptor reports, or leave the kernel
    /// reporting what nothing handles.
    static func descriptorFailed(_ call: String, code: Int32 = lastError) -> Never {
        fatalError("RunLoopKit: \(LoopError(call: call, code: code, advice: foreignCloseAdvice))")
    }

    /// Ends the process after the kernel has reported a source that has left, and may report it for ever.
    static func descriptorOfNobodyReported() -> Never {
        descriptorFailed("epoll_wait, of a source that has left", code: EBADF)
    }

    /// Returns another number for the same open file.
    static func duplicate(_ descriptor: Descriptor) throws(LoopError) -> Descriptor {
        try check("fcntl(\(descriptor), F_DUPFD_CLOEXEC)", clinux_duplicate_above_streams(descriptor))
    }

    /// A new descriptor of the library's, or another one in its place if its number is that of a standard stream: a
    /// program that was started without one would read, or write, what is the library's.
    static func aboveStreams(_ descriptor: Descriptor) throws(LoopError) -> Descriptor {
        guard descriptor <= 2 else { return descriptor }
        defer { close(descriptor) }
        return try duplicate(descriptor)
    }

    /// Whether a descriptor of the library's is readable now. Consumes nothing, so it may be an epoll set. Traps if it
    /// is closed.
    static func isReadable(_ descriptor: Descriptor) -> Bool {
        openReadiness(of: descriptor, for: .read).map { !$0.isEmpty } ?? false
    }

    /// The same, but true if the kernel does not answer: for what is not reported again.
    static func mayBeReadable(_ descriptor: Descriptor) -> Bool {
        openReadiness(of: descriptor, for: .read).map { !$0.isEmpty } ?? true
    }

    /// Waits until a descriptor of the library's is readable, without consuming anything; returns early when a Unix
    /// signal interrupts. Traps if it is closed.
    static func waitUntilReadable(_ descriptor: Descriptor) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&request, 1, -1) < 0, lastError != EINTR {
            // The caller would wait again at once, and spin.
            fatalError("RunLoopKit: \(LoopError(call: "poll(\(descriptor))"))")
        }
        requireOpen(descriptor, PollEvents(rawValue: UInt32(UInt16(bitPattern: request.revents))))
    }

    /// As `readiness(of:for:)`, of a descriptor of the library's. Traps if it is closed. Nil if the kernel does not
    /// answer: it has no memory, or the process may open no descriptor at all.
    static func openReadiness(of descriptor: Descriptor, for events: PollEvents) -> PollEvents? {
        let found = answer(of: descriptor, for: events)
        if let found { requireOpen(descriptor, found) }
        return found
    }

    private static func requireOpen(_ descriptor: Descriptor, _ found: PollEvents) {
        guard found.contains(.closed) else { return }
        descriptorFailed("poll(\(descriptor))", code: EBADF)
    }

    /// Returns the part of `events` that a descriptor is ready for now, with hang-ups and errors. Consumes nothing.
    static func readiness(of descriptor: Descriptor, for events: PollEvents) -> PollEvents {
        answer(of: descriptor, for: events) ?? []
    }

    /// The same; nil if the call fails.
    private static func answer(of descriptor: Descriptor, for events: PollEvents) -> PollEvents? {
        var request = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events.rawValue), revents: 0)
        while true {
            let count = clinux_poll(&request, 1)
            if count > 0 { return PollEvents(rawValue: UInt32(UInt16(bitPattern: request.revents))) }
            if count == 0 { return [] }
            if lastError != EINTR { return nil }
        }
    }

    /// What one of many descriptors is asked for, and whether it is ready.
    struct ReadinessRequest {
        fileprivate var request: pollfd

        init(_ descriptor: Descriptor, _ events: PollEvents) {
            request = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events.rawValue), revents: 0)
        }

        /// Whether it is ready for any of the events, hung up, in error or closed. False before the answer.
        var isReady: Bool { request.revents != 0 }
    }

    /// Asks for the readiness of many descriptors, without waiting. Those for which the kernel does not answer are not
    /// ready. In pieces: it allocates memory for each call, and takes no more requests than the process may have
    /// descriptors.
    static func answer(_ requests: inout [ReadinessRequest]) {
        requests.withUnsafeMutableBufferPointer { all in
            var rest = all[...]
            while !rest.isEmpty {
                let piece = UnsafeMutableBufferPointer(rebasing: rest.prefix(256))
                rest = rest.dropFirst(256)
                piece.withMemoryRebound(to: pollfd.self) { piece in
                    while clinux_poll(piece.baseAddress, UInt(piece.count)) < 0, lastError == EINTR {}
                }
            }
        }
    }

    /// Whether a call that would have to wait fails instead: `O_NONBLOCK`.
    static func isNonBlocking(_ descriptor: Descriptor) -> Bool { clinux_is_nonblocking(descriptor) }

    /// How many bytes wait to be read from a descriptor, and how many to be sent; -1 where the kernel does not know.
    static func waitingBytes(in descriptor: Descriptor) -> (unread: Int32, unsent: Int32) {
        (unreadBytes(in: descriptor), clinux_unsent(descriptor))
    }

    /// How many bytes wait to be read from a descriptor; -1 where the kernel does not know.
    static func unreadBytes(in descriptor: Descriptor) -> Int32 { clinux_unread(descriptor) }

    /// Whether these numbers are all that waits there.
    static func countsBytes(in descriptor: Descriptor) -> Bool { clinux_counts_bytes(descriptor) }

    /// Whether reading may leave these numbers as they are.
    static func mayHideReads(of descriptor: Descriptor, hasHungUp: Bool) -> Bool {
        clinux_may_hide_reads(descriptor, hasHungUp)
    }

    /// Writes one line to stderr in one call.
    package static func complain(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = bytes.withUnsafeBytes { clinux_write(STDERR_FILENO, $0.baseAddress, UInt($0.count)) }
    }
}
