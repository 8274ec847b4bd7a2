extension Loop.PortSource {
    /// Makes a port, and the sequence of its sends for a task to iterate. On any thread.
    ///
    /// ```swift
    /// let (port, sends) = try Loop.PortSource.makeSends(on: worker.loop)
    /// port.send()  // from any thread, even in a signal handler
    /// for await count in sends { print("\(count) sends") }
    /// ```
    ///
    /// - *Buffering:* sends while the task is busy are coalesced into one element with their number: none is lost.
    /// - *The end:* cancelling the iterating task, invalidating the port and the end of the loop end the sequence. If
    ///   the loop has ended already, the sequence is empty.
    /// - *The loop* has the port at once. The port leaves it at the end of the sequence, or when the sequence and its
    ///   iterator are deallocated.
    ///
    /// - Parameters:
    ///   - loop: The loop that waits for the port.
    ///   - mode: The mode in which the loop must run.
    /// - Throws: ``LoopError`` from `eventfd`, if the process has no descriptor left.
    public static func makeSends(
        on loop: Loop, in mode: Loop.Mode = .common
    ) throws(LoopError) -> (port: Loop.PortSource, sends: Sends) {
        let buffer = SequenceBuffer<Int>(capacity: 1) { $0 += $1 }
        let feed = Feed(buffer)
        let port = try Loop.PortSource(file: "sends to a task", line: 0) { feed.put($0) }
        return (port, Sends(subscription: Subscription(adding: port, to: loop, in: mode, feeds: buffer)))
    }

    /// The numbers of sends to a port, each since the one before. Made by ``Loop/PortSource/makeSends(on:in:)``.
    public typealias Sends = Loop.InputSequence<Int>
}
