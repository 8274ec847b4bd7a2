/// The pipes between a child and this process, before the child is started.
struct ChildPipes {
    typealias Streams = (System.ChildStream, System.ChildStream, System.ChildStream)

    /// What the child gets. It contains the ends of pipes that `childs` closes.
    private(set) var streams: Streams = (.inherited, .inherited, .inherited)

    /// This process's end of a pipe.
    private struct End {
        let descriptor: OwnedDescriptor
        let stream: System.Stream
    }

    private var input: End?
    private var output: End?
    private var error: End?

    /// The child's ends, which this process closes once the child has copies.
    private var childs: [OwnedDescriptor] = []

    init(
        _ input: Loop.ChildProcess.Stream, _ output: Loop.ChildProcess.Stream, _ error: Loop.ChildProcess.ErrorStream
    ) throws(LoopError) {
        // Before the first pipe is made, which could get the number of one that is not open.
        if case .descriptor(let descriptor) = input { try System.requireOpen(descriptor) }
        if case .descriptor(let descriptor) = output { try System.requireOpen(descriptor) }
        if case .descriptor(let descriptor) = error { try System.requireOpen(descriptor) }
        streams.0 = try stream(input, \.input, childReads: true)
        streams.1 = try stream(output, \.output, childReads: false)
        switch error {
        case .inherited: streams.2 = .inherited
        case .null: streams.2 = .null
        case .descriptor(let descriptor): streams.2 = .descriptor(descriptor)
        case .sameAsOutput: streams.2 = .sameAsOutput
        case .pipe: streams.2 = try stream(.pipe, \.error, childReads: false)
        }
    }

    private mutating func stream(
        _ stream: Loop.ChildProcess.Stream, _ end: WritableKeyPath<ChildPipes, End?>, childReads: Bool
    ) throws(LoopError) -> System.ChildStream {
        switch stream {
        case .inherited: return .inherited
        case .null: return .null
        case .descriptor(let descriptor): return .descriptor(descriptor)
        case .pipe: break
        }
        let ends = try System.makePipe(isNonBlocking: false)
        let (reader, writer) = (OwnedDescriptor(ends.reader), OwnedDescriptor(ends.writer))
        let (own, other) = childReads ? (writer, reader) : (reader, writer)
        childs.append(other)
        self[keyPath: end] = End(descriptor: own, stream: try System.makeStream(own.number))
        return .descriptor(other.number)
    }

    /// This process's ends as connections, after the child has started. What is sent to the child goes on without a
    /// handler of the program's.
    func connections(_ place: Place, _ label: String?) -> ChildConnections {
        func connection(_ end: End?, _ name: String, _ handler: Loop.Connection.Handler?) -> Loop.Connection? {
            guard let end else { return nil }
            return Loop.Connection(
                ofChild: end.descriptor, end.stream, place, "\(name) of \(label.map { "\"\($0)\"" } ?? "a child")",
                handler)
        }
        return ChildConnections(
            input: connection(input, "input") { _, _ in }, output: connection(output, "output", nil),
            error: connection(error, "error output", nil))
    }
}

/// The connections to a child, of the streams that are pipes.
struct ChildConnections {
    let input: Loop.Connection?
    let output: Loop.Connection?
    let error: Loop.Connection?

    var all: [Loop.Connection] { [input, output, error].compactMap { $0 } }

    /// The child is not in a loop any more, or never was: then that is the mistake, if it is one.
    func mayNeverBeAdded() { for connection in all { connection.noteRefusal() } }

    /// The handler of the child's end has returned: what the child has written may be lost.
    func reportUnread() {
        for case let connection? in [output, error] where !connection.hasHandler && connection.unreadByteCount > 0 {
            Mistakes.shared.report(.unreadOutput(connection: connection.name))
        }
    }
}

extension Loop.ChildProcess {
    /// Sends to the child's standard input. ``Loop/Connection/end()`` ends the input, after what waits; the connection
    /// is closed when the child reads no more. A handler is not needed.
    ///
    /// - Precondition: The child was started with `input: .pipe`.
    public var inputConnection: Loop.Connection { existing(connections.input, "input") }

    /// Receives the child's standard output. Set its handler, by ``Loop/Connection/setHandler(_:)``: without one, the
    /// output waits, and the child too, once the pipe is full.
    ///
    /// It joins each mode that the child is added to, and stays there when the child has ended, until its own end:
    /// ``Loop/Connection/Event/closed(_:)``. That may come before the child's exit is reported, or after it. A process
    /// that the child has left behind keeps it open.
    ///
    /// - Precondition: The child was started with `output: .pipe`.
    public var outputConnection: Loop.Connection { existing(connections.output, "output") }

    /// Receives the child's standard error, as ``outputConnection`` receives the output.
    ///
    /// - Precondition: The child was started with `error: .pipe`.
    public var errorConnection: Loop.Connection { existing(connections.error, "error") }

    private func existing(_ connection: Loop.Connection?, _ stream: String) -> Loop.Connection {
        guard let connection else {
            fatalError("RunLoopKit: The \(name) has no connection for its \(stream): start it with \(stream): .pipe")
        }
        return connection
    }
}
