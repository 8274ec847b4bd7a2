extension Loop.FileDescriptorSource {
    /// Makes a source for a descriptor that stays the caller's, and the sequence of its reports, for a task to iterate.
    ///
    /// ```swift
    /// let (_, reports) = try Loop.FileDescriptorSource.makeReports(of: socket, on: worker.loop)
    /// var bytes = [UInt8](repeating: 0, count: 4096)
    /// for await _ in reports {
    ///     let count = read(socket, &bytes, bytes.count)
    ///     if count <= 0 { break }  // the other end has hung up
    /// }
    /// ```
    ///
    /// **One report for each question.** The source is level-triggered and one-shot, and rearmed when the task asks for an
    /// element. So every element tells what the descriptor was ready for after it was asked for, reading a part is enough,
    /// and a task that is busy costs the loop nothing. A descriptor that stays ready, as one does after a hang-up, is
    /// reported each time: end the iteration then. Each element costs two system calls and a pass of the loop.
    ///
    /// **The end.** The source is in the loop at once. It leaves it when the sequence and its iterator have gone, when the
    /// task that iterates is cancelled, and when the source is invalidated, which ends the sequence; so does the end of the
    /// loop. If the loop has ended already, the sequence is empty, and the source invalid.
    ///
    /// *Buffering:* none is needed.
    ///
    /// - Parameters:
    ///   - descriptor: Borrowed: to be closed after the sequence has gone or ended.
    ///   - interest: What to wait for. It can be changed later, with the source.
    ///   - loop: The loop that waits for the descriptor.
    ///   - mode: In which mode the loop has to run.
    /// - Throws: `LoopError`, as `init(_:interest:trigger:isOneShot:handler:)` does.
    public static func makeReports(
        of descriptor: Int32, interest: Interest = .read, on loop: Loop, in mode: Loop.Mode = .common
    ) throws(LoopError) -> (source: Loop.FileDescriptorSource, reports: Reports) {
        try makeReports(on: loop, in: mode) { handler throws(LoopError) in
            try Loop.FileDescriptorSource(descriptor, interest: interest, isOneShot: true, handler: handler)
        }
    }

    /// Makes a source that owns its descriptor, and the sequence of its reports. The descriptor is closed when the source
    /// leaves the loop. Everything else is as with `makeReports(of:interest:on:in:)`.
    ///
    /// ```swift
    /// let (source, reports) = try Loop.FileDescriptorSource.makeReports(owning: socket, on: worker.loop)
    /// var bytes = [UInt8](repeating: 0, count: 4096)
    /// for await _ in reports {
    ///     let count = read(source.descriptor, &bytes, bytes.count)
    ///     if count <= 0 { break }  // the other end has hung up; the source closes this one
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - descriptor: Nobody else may close it.
    ///   - interest: What to wait for. It can be changed later, with the source.
    ///   - loop: The loop that waits for the descriptor. If it has ended, the descriptor is closed at once.
    ///   - mode: In which mode the loop has to run.
    /// - Throws: `LoopError`, as `init(owning:interest:trigger:isOneShot:handler:)` does. The descriptor is left open
    ///   then, and is the caller's.
    public static func makeReports(
        owning descriptor: Int32, interest: Interest = .read, on loop: Loop, in mode: Loop.Mode = .common
    ) throws(LoopError) -> (source: Loop.FileDescriptorSource, reports: Reports) {
        try makeReports(on: loop, in: mode) { handler throws(LoopError) in
            try Loop.FileDescriptorSource(owning: descriptor, interest: interest, isOneShot: true, handler: handler)
        }
    }

    private static func makeReports(
        on loop: Loop, in mode: Loop.Mode,
        _ makeSource: (@escaping Handler) throws(LoopError) -> Loop.FileDescriptorSource
    ) throws(LoopError) -> (source: Loop.FileDescriptorSource, reports: Reports) {
        // Two only if somebody else rearms the source: what it was found ready for meanwhile.
        let buffer = SequenceBuffer<Readiness>(capacity: 1) { $0.formUnion($1) }
        let feed = Feed(buffer)
        let source = try makeSource { _, ready in feed.put(ready) }
        source.disarm()
        let subscription = Subscription(adding: source, to: loop, in: mode, feeds: buffer) { [weak source] in
            source?.rearm()
        }
        return (source, Reports(subscription: subscription))
    }

    /// A sequence of what a descriptor was found ready for. Made by `makeReports(of:interest:on:in:)` and
    /// `makeReports(owning:interest:on:in:)`. All its iterators share the elements: one task iterates.
    public struct Reports: AsyncSequence, Sendable {
        fileprivate let subscription: Subscription<Readiness>

        /// Begins, or goes on with, the iteration.
        public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

        /// Takes the reports, one task at a time.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let subscription: Subscription<Readiness>

            /// What the descriptor is ready for, as soon as it is, never empty; nil when the task is cancelled, the source
            /// is invalid or the loop has ended.
            public nonisolated(nonsending) mutating func next() async -> Readiness? { await subscription.next() }

            /// The same, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Readiness? {
                await subscription.next()
            }
        }
    }
}
