internal import CLinux

/// An epoll set: many descriptors, each with a token that identifies its owner.
///
/// A token, not a descriptor's number, identifies what became ready: between the kernel's report and its handling the
/// number can be closed and reused.
struct Poller: ~Copyable {
    /// The epoll set itself. It can be watched like any other descriptor, and is readable while something in it is
    /// ready.
    let descriptor: Descriptor

    private let events: UnsafeMutablePointer<epoll_event>
    private let process = ProcessMark.current

    /// The maximum number of ready descriptors that one `wait` fetches.
    static let capacity = 64

    init() throws(LoopError) {
        descriptor = try System.makeEpoll()
        events = .allocate(capacity: Poller.capacity)
        events.initialize(repeating: epoll_event(), count: Poller.capacity)
    }

    deinit {
        System.close(descriptor)
        events.deallocate()
    }

    /// Watches one of the loop's own descriptors, edge-triggered for readability.
    func add(_ descriptor: Descriptor, token: UInt64) throws(LoopError) {
        try set(Watch(descriptor: descriptor, events: [.read, .edge]), token: token)
    }

    /// Watches a source's descriptor, or changes its events. A change reports present readiness, as a new watch does.
    ///
    /// Does nothing in a forked child, like `remove`.
    ///
    /// - Parameter isWatched: Whether the descriptor probably is in the set: which call to try first.
    func set(_ watch: Watch, token: UInt64, isWatched: Bool = false) throws(LoopError) {
        guard process.isCurrent else { return }
        guard let events = watch.events else { return remove(watch) }
        var event = epoll_event()
        event.events = events.rawValue
        event.data.u64 = token
        func control(_ operation: Int32) -> Bool {
            epoll_ctl(descriptor, operation, watch.descriptor, &event) == 0
        }
        if isWatched, !events.contains(.exclusive), control(EPOLL_CTL_MOD) { return }
        if control(EPOLL_CTL_ADD) { return }
        if clinux_errno() == EEXIST {
            if !events.contains(.exclusive), control(EPOLL_CTL_MOD) { return }
            // The kernel does not modify an exclusive entry, nor makes one exclusive.
            remove(watch)
            if control(EPOLL_CTL_ADD) { return }
        }
        if events.contains(.exclusive), clinux_errno() == EINVAL {
            // An epoll set cannot be watched exclusively.
            let others = Watch(descriptor: watch.descriptor, events: events.subtracting(.exclusive))
            return try set(others, token: token)
        }
        // Only these two errors indicate a cycle; their texts do not say so.
        let isCircle = clinux_errno() == ELOOP || clinux_errno() == EINVAL
        throw LoopError(
            call: "epoll_ctl(\(watch.descriptor))",
            advice: isCircle
                ? "an epoll set, such as the descriptor of a hosted loop, cannot watch itself or one that watches it"
                : nil)
    }

    /// Removes a descriptor. One that is not in the set is no error. A closed one is: it stays in the set while a
    /// duplicate of it is open.
    func remove(_ watch: Watch) {
        guard process.isCurrent else { return }
        var event = epoll_event()  // Kernels before 2.6.9 require one.
        let result = epoll_ctl(descriptor, EPOLL_CTL_DEL, watch.descriptor, &event)
        assert(
            result == 0 || clinux_errno() != EBADF,
            "descriptor \(watch.descriptor) was closed before it left an epoll set")
    }

    /// Fetches what is ready, and waits for it without limit if `blocking`. Returns 0 if there is nothing or a Unix
    /// signal interrupted the wait: the caller then checks its condition again.
    ///
    /// Traps in a forked child, which would consume events of its parent's.
    func wait(blocking: Bool) -> Int {
        process.requireCurrent()
        let capacity = Int32(Poller.capacity)
        let count =
            blocking
            ? epoll_wait(descriptor, events, capacity, -1)
            : clinux_epoll_poll(descriptor, events, capacity)
        if count >= 0 { return Int(count) }
        guard clinux_errno() == EINTR else { fatalError("RunLoopKit: \(LoopError(call: "epoll_wait"))") }
        return 0
    }

    /// A descriptor that is ready: its token, and what it is ready for.
    struct Report {
        let token: UInt64
        let events: PollEvents
    }

    /// The `index`th descriptor that the last `wait` reported, in the order in which they became ready.
    func report(at index: Int) -> Report {
        Report(token: events[index].data.u64, events: PollEvents(rawValue: events[index].events))
    }
}

extension System {
    static func makeEpoll() throws(LoopError) -> Descriptor {
        try check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
    }
}
