/// An epoll set: many descriptors, each with a token that says whose it is.
///
/// Tokens, not descriptor numbers, identify who became ready: a number can be closed and given to somebody else between
/// the kernel's report and our look at it.
final class Poller {
    /// The epoll set itself. It can be watched like any other descriptor: readable when something in it is ready.
    let descriptor: Descriptor

    private let events: UnsafeMutableBufferPointer<CPollEvent>
    private let process = ProcessMark.current

    /// How many ready descriptors one `wait` fetches at most.
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

    /// Watches one of the loop's own, edge-triggered for readability.
    func add(_ descriptor: Descriptor, token: UInt64) throws(LoopError) {
        try System.watch(descriptor, for: [.read, .edge], in: self.descriptor, token: token)
    }

    /// Watches what a source asks for; what was watched before is changed. A change reports what is ready now, as a
    /// beginning does.
    ///
    /// Nothing happens in a forked child, here and in `remove`.
    func set(_ watch: Watch, token: UInt64) throws(LoopError) {
        guard process.isCurrent else { return }
        guard let events = watch.events else { return remove(watch) }
        try System.watch(watch.descriptor, for: events, in: descriptor, token: token)
    }

    func remove(_ watch: Watch) {
        if process.isCurrent { System.remove(watch.descriptor, from: descriptor) }
    }

    /// Fetches what is ready, waiting for it when `blocking`. May return 0 although blocking: look again.
    ///
    /// Traps in a forked child: it would take what its parent waits for.
    func wait(blocking: Bool) -> Int {
        process.requireCurrent()
        return System.wait(epoll: descriptor, into: events, blocking: blocking)
    }

    /// The token of the `index`th descriptor that the last `wait` reported, in the order in which they became ready.
    func token(at index: Int) -> UInt64 { events[index].data.u64 }

    /// What it is ready for.
    func events(at index: Int) -> PollEvents { PollEvents(rawValue: events[index].events) }
}
