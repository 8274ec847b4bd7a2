// The system calls behind the sources in Inputs/ that watch the outside world. See SystemCalls.swift.

internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Android)
    internal import Android
#endif

extension System {
    // MARK: Any descriptor

    /// Another number for the same open file.
    static func duplicate(_ descriptor: Descriptor) throws(LoopError) -> Descriptor {
        try check("fcntl(\(descriptor), F_DUPFD_CLOEXEC)", fcntl(descriptor, F_DUPFD_CLOEXEC, 0))
    }

    /// Throws if the descriptor, which the caller knows by `name`, cannot be watched. There is no call that only asks, so
    /// it is put into an epoll set that is thrown away.
    static func checkCanBeWatched(_ descriptor: Descriptor, as name: Descriptor) throws(LoopError) {
        let epoll = try makeEpoll()
        defer { close(epoll) }
        var event = epoll_event()
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) < 0 else { return }
        let call = "epoll_ctl(\(name))"
        guard errno == EPERM else { throw LoopError(call: call) }
        throw LoopError(
            call: call, code: EPERM,
            advice:
                "the kernel cannot watch it, because it is always ready, as regular files, directories and /dev/null "
                + "are: no source is needed, read or write it directly")
    }

    /// What of `events` a descriptor is ready for now, and whether it has hung up or failed. Consumes nothing.
    static func readiness(of descriptor: Descriptor, for events: PollEvents) -> PollEvents {
        var request = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events.rawValue), revents: 0)
        // With no time to wait there is nothing that a signal could interrupt.
        let count = poll(&request, 1, 0)
        return count > 0 ? PollEvents(rawValue: UInt32(UInt16(bitPattern: request.revents))) : []
    }
}
