/// An epoll set: many descriptors, each with a token that identifies its owner.
///
/// A token, not a descriptor's number, identifies what became ready: between the kernel's report and its handling the
/// number can be closed and reused.
final class Poller {
    /// The epoll set itself. It can be watched like any other descriptor, and is readable while something in it is
    /// ready.
    let descriptor: Descriptor

    private let events: UnsafeMutableBufferPointer<CPollEvent>
    private let process = ProcessMark.current

    /// The maximum number of ready descriptors that one `wait` fetches.
    static let capacity = 64

    init() throws(LoopError) {
        descriptor = try System.makeEpoll()
        events = .allocate(capacity: Poller.capacity)
        events.initialize(repeating: CPollEvent())
    }

    deinit {
        System.close(descriptor)
        events.deallocate()
    }

    /// Watches one of the loop's own descriptors, edge-triggered for readability.
    func add(_ descriptor: Descriptor, token: UInt64) throws(LoopError) {
        try System.watch(descriptor, for: [.read, .edge], in: self.descriptor, token: token)
    }

    /// Watches a source's descriptor, or changes its events. A change reports present readiness, as a new watch does.
    ///
    /// Does nothing in a forked child. Neither does `remove`.
    func set(_ watch: Watch, token: UInt64) throws(LoopError) {
        guard process.isCurrent else { return }
        guard let events = watch.events else { return remove(watch) }
        try System.watch(watch.descriptor, for: events, in: descriptor, token: token)
    }

    func remove(_ watch: Watch) {
        if process.isCurrent { System.remove(watch.descriptor, from: descriptor) }
    }

    /// Fetches what is ready, and waits for it if `blocking`. May return 0 in either case.
    ///
    /// Traps in a forked child, which would consume events of its parent's.
    func wait(blocking: Bool) -> Int {
        process.requireCurrent()
        return System.wait(epoll: descriptor, into: events, blocking: blocking)
    }

    /// The token of the `index`th descriptor that the last `wait` reported, in the order in which they became ready.
    func token(at index: Int) -> UInt64 { events[index].data.u64 }

    /// The events of that descriptor.
    func events(at index: Int) -> PollEvents { PollEvents(rawValue: events[index].events) }
}
