internal import CLinux

/// What a descriptor is ready for, as the kernel reports it.
typealias CPollEvent = epoll_event

extension System {
    /// Makes an epoll set.
    static func makeEpoll() throws(LoopError) -> Descriptor {
        try check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
    }

    /// Watches a descriptor in an epoll set, or changes the events of one that is in the set.
    static func watch(
        _ descriptor: Descriptor, for events: PollEvents, in epoll: Descriptor, token: UInt64
    ) throws(LoopError) {
        var event = epoll_event()
        event.events = events.rawValue
        event.data.u64 = token
        if epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 { return }
        if clinux_errno() == EEXIST, epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0 { return }
        // Only these two errors indicate a cycle; their texts do not say so.
        let isCircle = clinux_errno() == ELOOP || clinux_errno() == EINVAL
        throw LoopError(
            call: "epoll_ctl(\(descriptor))",
            advice: isCircle
                ? "an epoll set, such as the descriptor of a hosted loop, cannot watch itself or one that watches it"
                : nil
        )
    }

    /// Removes a descriptor from an epoll set. A descriptor that is not in the set is no error. A closed one is: it
    /// stays in the set while a duplicate of it is open.
    static func remove(_ descriptor: Descriptor, from epoll: Descriptor) {
        var event = epoll_event()  // Kernels before 2.6.9 require one.
        let result = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
        assert(
            result == 0 || clinux_errno() != EBADF, "descriptor \(descriptor) was closed before it left an epoll set")
    }

    /// Fetches ready descriptors, and waits for them without limit if `blocking`. Returns zero if there are none or a
    /// Unix signal interrupted the wait: the caller then checks its condition again.
    static func wait(
        epoll: Descriptor, into events: UnsafeMutableBufferPointer<CPollEvent>, blocking: Bool
    ) -> Int {
        let capacity = Int32(events.count)
        let count =
            blocking
            ? epoll_wait(epoll, events.baseAddress, capacity, -1)
            : clinux_epoll_poll(epoll, events.baseAddress, capacity)
        if count >= 0 { return Int(count) }
        guard clinux_errno() == EINTR else { fatalError("RunLoopKit: \(LoopError(call: "epoll_wait"))") }
        return 0
    }

    /// Throws if a descriptor cannot be watched. No call answers that, so a temporary epoll set tries.
    static func checkCanBeWatched(_ descriptor: Descriptor) throws(LoopError) {
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
