internal import CLinux

extension System {
    /// Throws if a descriptor cannot be watched. All sockets and pipes can. For other kinds no call answers that, so a
    /// temporary epoll set tries, which takes a descriptor.
    static func checkCanBeWatched(_ descriptor: Descriptor) throws(LoopError) {
        if clinux_is_socket_or_pipe(descriptor) { return }
        // A number that is free could be that of the epoll set.
        guard isOpen(descriptor) else { throw LoopError(call: "epoll_ctl(\(descriptor))") }
        let epoll = try makeEpoll()
        defer { close(epoll) }
        var event = epoll_event()
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) < 0 else { return }
        let call = "epoll_ctl(\(descriptor))"
        guard clinux_errno() == EPERM else { throw LoopError(call: call) }
        throw LoopError(
            call: call, code: EPERM,
            advice:
                "the kernel cannot watch it, because it is always ready, as regular files, directories and /dev/null "
                + "are: no source is needed, read or write it directly")
    }
}
