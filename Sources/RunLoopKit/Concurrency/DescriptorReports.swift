extension Loop.FileDescriptorSource {
    /// Makes a source for a descriptor that the caller keeps, and the sequence of its reports for a task to iterate. On
    /// any thread.
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
    /// **One report for each request.** The source is level-triggered and one-shot, and rearmed when the task requests
    /// an element. So every element says what the descriptor was ready for after the request. A partial read is enough,
    /// and a busy task costs the loop nothing. Each element costs two system calls and a pass of the loop. No report is
    /// buffered.
    ///
    /// **The end.** The source is in the loop at once, and leaves it when the sequence ends, or when the sequence and
    /// its iterator are deallocated. Cancelling the iterating task, invalidating the source and the end of the loop end
    /// the sequence. The end of the data does not, and a hang-up is reported each time: end the iteration then. If the
    /// loop has ended already, the sequence is empty and the source invalid.
    ///
    /// - Parameters:
    ///   - descriptor: Borrowed: close it after the sequence has ended or is deallocated.
    ///   - interest: The events to wait for. The source can change it later.
    ///   - loop: The loop that waits for the descriptor.
    ///   - mode: The mode in which the loop must run.
    /// - Throws: ``LoopError``, as `init(_:interest:trigger:isOneShot:label:file:line:handler:)` does.
    public static func makeReports(
        of descriptor: Int32, interest: Interest = .read, on loop: Loop, in mode: Loop.Mode = .common
    ) throws(LoopError) -> (source: Loop.FileDescriptorSource, reports: Reports) {
        try makeReports(on: loop, in: mode) { handler throws(LoopError) in
            try Loop.FileDescriptorSource(descriptor, interest: interest, isOneShot: true, handler: handler)
        }
    }

    /// Makes a source that owns its descriptor, and the sequence of its reports. The source closes the descriptor when
    /// it leaves the loop.
    ///
    /// Otherwise as ``Loop/FileDescriptorSource/makeReports(of:interest:on:in:)``: read from `source.descriptor`, and
    /// leave the iteration when the other end has hung up.
    ///
    /// - Parameters:
    ///   - descriptor: The source closes it; other code must not.
    ///   - interest: The events to wait for. The source can change it later.
    ///   - loop: The loop that waits for the descriptor. If it has ended, the descriptor is closed at once.
    ///   - mode: The mode in which the loop must run.
    /// - Throws: ``LoopError``, as `init(owning:interest:trigger:isOneShot:label:file:line:handler:)` does. The
    ///   descriptor stays open then, and is the caller's.
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
        // A second report comes only if other code rearms the source: the two are merged.
        let buffer = SequenceBuffer<Readiness>(capacity: 1) { $0.formUnion($1) }
        let feed = Feed(buffer)
        let source = try makeSource { _, ready in feed.put(ready) }
        source.disarm()
        let subscription = Subscription(adding: source, to: loop, in: mode, feeds: buffer) { [weak source] in
            source?.rearm()
        }
        return (source, Reports(subscription: subscription))
    }

    /// The reports of a source: what its descriptor is ready for, never empty. Made by
    /// ``Loop/FileDescriptorSource/makeReports(of:interest:on:in:)`` and
    /// ``Loop/FileDescriptorSource/makeReports(owning:interest:on:in:)``.
    public typealias Reports = Loop.InputSequence<Readiness>
}
