/// Tells whether others write to a descriptor, or read from its other end, while a handler runs.
///
/// The kernel then wakes those who wait for the descriptor, even if it is ready already. An edge-triggered epoll set
/// reports that. The kernel does not do so for reading from a pipe, or from TCP.
struct PeerActivity: ~Copyable {
    private let poller: Poller

    /// Begins to watch. Throws if the process has no descriptor left.
    init(of descriptor: Descriptor) throws(LoopError) {
        let poller = try Poller()
        try poller.set(Watch(descriptor: descriptor, events: [.read, .write, .edge]), token: 0)
        // What it is ready for at first.
        _ = poller.wait(blocking: false)
        self.poller = poller
    }

    /// Whether there was any since the last call, or the beginning.
    func take() -> Bool { poller.wait(blocking: false) > 0 }
}
