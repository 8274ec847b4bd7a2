import RunLoopKit

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Sends back what its connections send, and closes a connection that has been idle for a while.
@MainActor final class EchoServer {
    fileprivate(set) var connections: [ObjectIdentifier: Connection] = [:]
    /// How long a connection may be idle. A new value counts from now, for all of them.
    var idleTime: Duration {
        didSet { for connection in connections.values { connection.timeout.restart(after: idleTime) } }
    }
    private let listener: Loop.FileDescriptorSource

    /// Accepts the connections of a socket that listens and does not block.
    init(listening socket: Int32, idleTime: Duration) throws {
        self.idleTime = idleTime
        // The source closes the socket. It reports as long as there are connections to accept.
        listener = try .init(owning: socket)
        listener.setHandler(isolation: .shared) { [unowned self] _, _ in acceptConnection() }
        Loop.main.add(listener, in: .common)
    }

    /// Returns whether there was one.
    @discardableResult private func acceptConnection() -> Bool {
        let socket = accept(listener.descriptor, nil, nil)
        if socket >= 0 {
            _ = fcntl(socket, F_SETFL, O_NONBLOCK)
            _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
            guard let connection = try? Connection(socket: socket, server: self) else { return close(socket) == 0 }
            connections[ObjectIdentifier(connection)] = connection
            return true
        } else if errno == EMFILE || errno == ENFILE {
            // For a second, or until a connection ends; meanwhile the kernel queues them. Other code may have the
            // descriptors, and then no connection need ever end.
            listener.disarm()
            let retry = Loop.Timer(after: .seconds(1), isolation: .shared) { [listener] _ in listener.rearm() }
            Loop.main.add(retry, in: .common)
        }
        return false
    }

    /// Answers what has come until now, and accepts no more. Connections that wait in the kernel when their listener is
    /// closed would be reset.
    func end() {
        guard listener.isValid else { return }
        while acceptConnection() {}
        listener.invalidate()
        for connection in connections.values { connection.answer() }
    }

    fileprivate func remove(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = nil
        if listener.isValid, !listener.isArmed { listener.rearm() }
    }
}

/// One connection. Its source and its timer are in the loop until it ends.
@MainActor final class Connection {
    private unowned let server: EchoServer
    private let source: Loop.FileDescriptorSource
    let timeout: Loop.Timer
    /// What has been received and could not be sent yet.
    private var output: ArraySlice<UInt8> = []

    fileprivate init(socket: Int32, server: EchoServer) throws {
        self.server = server
        source = try .init(owning: socket)
        timeout = .init(restartableAfter: server.idleTime)
        source.setHandler(isolation: .shared) { [weak self] _, _ in
            guard let self else { return }  // retained until this returns: `end` releases the last reference
            if output.isEmpty { receive() } else { sendOutput() }
        }
        timeout.setHandler(isolation: .shared) { [weak self] _ in self?.end() }
        Loop.main.add(source, in: .common)
        Loop.main.add(timeout, in: .common)
    }

    /// Sends back what has come, as far as the socket takes it now. At most 64 parts, of a peer that goes on sending.
    fileprivate func answer() {
        var count = 0
        while count < 64, output.isEmpty, receive() { count += 1 }
    }

    /// Returns whether there was anything.
    @discardableResult private func receive() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16 * 1024)
        let count = read(source.descriptor, &bytes, bytes.count)
        if count > 0 {
            timeout.restart()
            output = bytes[..<count]
            sendOutput()
            return source.isValid
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            end()
        }
        return false
    }

    /// Sends what the socket takes. If some is left, the source waits for room, and nothing is received meanwhile.
    private func sendOutput() {
        let count = output.withUnsafeBytes {
            send(source.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count < 0, errno != EAGAIN, errno != EINTR { return end() }
        output = output.dropFirst(max(count, 0))
        source.interest = output.isEmpty ? .read : .write
    }

    /// Invalidated items leave the loop and release their handlers; the source closes its socket.
    private func end() {
        source.invalidate()
        timeout.invalidate()
        server.remove(self)
    }
}
