extension Loop.Connection {
    /// The type of a handler of lines: ``Loop/Connection/setLineHandler(_:_:)``.
    public typealias LineHandler = @Sendable (_ connection: Loop.Connection, _ line: Loop.LineSplitter.Line?) -> Void

    /// Sets a handler that gets lines: those of a child's output, or of a peer that is only listened to. In place of
    /// ``setHandler(_:)``.
    ///
    /// ```swift
    /// let child = try Loop.ChildProcess("ls", output: .pipe) { _, exit in print(exit) }
    /// child.outputConnection.setLineHandler { connection, line in
    ///     guard let line else { return print("the end, \(connection.ignoredByteCount) bytes were dropped") }
    ///     print(line.text ?? "(a line that is too long)")
    /// }
    /// Loop.current.add(child)
    /// ```
    ///
    /// - *The end:* when the peer has finished, the last line is reported, even without a newline, and the connection
    ///   ends itself, by ``end()``. The last call has no line: the connection is closed. Whether the end has dropped
    ///   something, as after a period, only ``ignoredByteCount`` tells: it is 0 then if nothing is known to be lost.
    /// - *At an end of the program's own,* such as ``finishSending(within:)``, the last line is reported without a
    ///   newline, too, even if the peer has not finished. If more of that line has come and was dropped, it is not
    ///   reported, and ``ignoredByteCount`` counts its beginning, too.
    /// - *A failure* looks the same, but reports no line that has not ended, and counts none as dropped; for its error
    ///   take ``setHandler(_:)`` and a ``Loop/LineSplitter``.
    /// - *Invalidated* by the handler, unless it is closed already, the connection reports no other line, and no end.
    ///   Ended by ``end()``, or paused by ``isReceiving``, it still reports those of the same read.
    /// - *A handler that runs the loop,* nested, gets the next lines there, in order, once other bytes come or the
    ///   connection is closed.
    /// - *Replaced* by another handler in a call, it still gets the other lines of the same read. The beginning of a
    ///   line that has not ended is lost: where lines are followed by something else, take ``setHandler(_:)`` and a
    ///   ``Loop/LineSplitter``.
    ///
    /// Node.js: `readline`.
    ///
    /// - Parameters:
    ///   - splitter: Divides the bytes, and has the maximal length of a line.
    ///   - handler: Called on the loop's thread with each line; with nil at the end, once.
    /// - Returns: Whether the connection is valid, and has the handler.
    @discardableResult
    public func setLineHandler(
        _ splitter: Loop.LineSplitter = Loop.LineSplitter(), _ handler: @escaping LineHandler
    ) -> Bool {
        setHandler(Self.divide(splitter, handler))
    }

    /// Sets a handler of the main actor that gets lines, as ``setLineHandler(_:_:)`` sets another one.
    ///
    /// - Parameters:
    ///   - splitter: Divides the bytes, and has the maximal length of a line.
    ///   - mainActor: `.shared`.
    ///   - handler: Called on the main thread with each line; with nil at the end, once.
    /// - Returns: Whether the connection has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setLineHandler(
        _ splitter: Loop.LineSplitter = Loop.LineSplitter(), isolation mainActor: MainActor,
        _ handler: @escaping @MainActor (_ connection: Loop.Connection, _ line: Loop.LineSplitter.Line?) -> Void
    ) -> Bool {
        set(Self.divide(splitter, unsafeBitCast(handler, to: LineHandler.self)), .mainActor)
    }

    private static func divide(_ splitter: Loop.LineSplitter, _ handler: @escaping LineHandler) -> Handler {
        let lines = DividedLines(splitter)
        return { connection, event in
            lines.add(event, of: connection)
            lines.report(after: event, of: connection, to: handler)
        }
    }
}

/// A splitter, and the lines that no call has reported yet.
private final class DividedLines: @unchecked Sendable {
    private let lock = Lock(.leaf)
    // Guarded by the lock, and exclusivity is unchecked for that.
    @exclusivity(unchecked) private var splitter: Loop.LineSplitter
    @exclusivity(unchecked) private var lines = RingQueue<Loop.LineSplitter.Line>()

    init(_ splitter: Loop.LineSplitter) { self.splitter = splitter }

    func add(_ event: Loop.Connection.Event, of connection: Loop.Connection) {
        lock.withLock { for line in splitter.add(event) { lines.append(line) } }
        guard case .closed(let error) = event, error?.isOwnLimit != false else { return }
        // What was dropped came after the rest, and belongs to its line.
        if connection.ignoredByteCount > 0 {
            connection.ignore(lock.withLock { splitter.dropRest() })
        } else {
            lock.withLock { if let line = splitter.finish() { lines.append(line) } }
        }
    }

    private func next() -> Loop.LineSplitter.Line? { lock.withLock { lines.takeFirst() } }

    /// Reports the lines, and then the end, if the event is one. If the handler gives the connection to a loop of
    /// another thread, that thread does the rest.
    func report(
        after event: Loop.Connection.Event, of connection: Loop.Connection,
        to handler: @escaping Loop.Connection.LineHandler
    ) {
        var isClosed = false
        if case .closed = event { isClosed = true }
        // A closed connection is invalid. Those that a call is still to report, which runs the loop, come first.
        while isClosed || connection.isValid, let line = next() {
            handler(connection, line)
            if let (loop, mode) = connection.firstPlace, !loop.isOnOwnThread {
                loop.perform(in: mode, label: "lines of a moved connection") {
                    self.report(after: event, of: connection, to: handler)
                }
                return
            }
        }
        if event == .peerFinished { connection.end() }
        if isClosed { handler(connection, nil) }
    }
}
