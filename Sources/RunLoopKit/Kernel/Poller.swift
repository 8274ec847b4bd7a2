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
        do throws(LoopError) {
            try set(Watch(descriptor: descriptor, events: [.read, .edge]), token: token)
        } catch {
            // It is no epoll set, unless the program has closed it and its number was given to one.
            throw LoopError(
                call: error.call, code: error.errno,
                advice: error.advice == nil ? nil : System.foreignCloseAdvice)
        }
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
        throw LoopError(call: changing(watch), advice: adviceForLastError)
    }

    private func changing(_ watch: Watch) -> String { "epoll_ctl(\(descriptor), \(watch.descriptor))" }

    private var adviceForLastError: String? {
        switch clinux_errno() {
        // Only these two errors indicate a cycle; their texts do not say so.
        case ELOOP, EINVAL:
            "an epoll set, such as the descriptor of a hosted loop, cannot watch itself or one that watches it"
        // It could be watched when its source was made.
        case EBADF, EPERM: System.foreignCloseAdvice
        default: nil
        }
    }

    /// Removes a descriptor. One that has no events, or may be missing, need not be in the set.
    ///
    /// Traps if the program has closed the descriptor, or put another file in its place: what the set watches stays in
    /// it while a duplicate is open, and would be reported for ever.
    func remove(_ watch: Watch) {
        guard process.isCurrent else { return }
        var event = epoll_event()  // Kernels before 2.6.9 require one.
        if epoll_ctl(descriptor, EPOLL_CTL_DEL, watch.descriptor, &event) == 0 { return }
        if clinux_errno() == ENOENT, watch.events == nil || watch.mayBeMissing { return }
        System.descriptorFailed(changing(watch))
    }

    /// Fetches what is ready, and waits for it without limit if `blocking`. Returns 0 if there is nothing or a Unix
    /// signal interrupted the wait: the caller then checks its condition again.
    ///
    /// Traps in a forked child, which would consume events of its parent's.
    func wait(blocking: Bool) -> Int { wait(milliseconds: blocking ? -1 : 0) }

    /// The same, but waits so long at most; without limit if the number is negative.
    func wait(milliseconds: Int32) -> Int {
        process.requireCurrent()
        let capacity = Int32(Poller.capacity)
        let count =
            milliseconds == 0
            ? clinux_epoll_poll(descriptor, events, capacity)
            : epoll_wait(descriptor, events, capacity, milliseconds)
        if count >= 0 { return Int(count) }
        guard clinux_errno() == EINTR else { System.descriptorFailed("epoll_wait(\(descriptor))") }
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
        try aboveStreams(check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC))))
    }
}
