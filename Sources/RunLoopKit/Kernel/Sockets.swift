internal import CLinux

/// A descriptor that its last user closes.
final class OwnedDescriptor: Sendable {
    let number: Descriptor
    init(_ number: Descriptor) { self.number = number }
    deinit { System.close(number) }
}

extension System {
    // MARK: Streams

    /// What a descriptor is, and which of its directions are open.
    struct Stream {
        let isSocket: Bool
        let canReceive: Bool
        let canSend: Bool

        static let ofSocket = Stream(isSocket: true, canReceive: true, canSend: true)
    }

    /// Makes a descriptor non-blocking and closed on exec. Throws, and changes nothing, if it is no stream.
    static func makeStream(_ descriptor: Descriptor) throws(LoopError) -> Stream {
        let mode = try check("fcntl(\(descriptor), F_GETFL)", clinux_access_mode(descriptor))
        let isSocket = try check("fstat(\(descriptor))", clinux_is_socket(descriptor)) == 1
        if isSocket {
            let call = "getsockopt(\(descriptor))"
            guard try check(call, clinux_is_stream_socket(descriptor)) == 1 else {
                let advice = "it is no stream socket: a FileDescriptorSource receives its messages"
                throw LoopError(call: call, code: EINVAL, advice: advice)
            }
            guard try check(call, clinux_is_listening(descriptor)) == 0 else {
                throw LoopError(call: call, code: EINVAL, advice: "it listens: make a Listener of it")
            }
        }
        try checkCanBeWatched(descriptor)
        try check("fcntl(\(descriptor), F_SETFL)", clinux_make_nonblocking(descriptor))
        return Stream(isSocket: isSocket, canReceive: mode != O_WRONLY, canSend: mode != O_RDONLY)
    }

    /// How many bytes have arrived and were not read. Nil if there is something to read, and the kernel does not count
    /// it: the peer's end; a stream of a kind that it never counts; of TCP's urgent data, what is behind the mark.
    static func arrivedBytes(in descriptor: Descriptor) -> Int? {
        let end: PollEvents = [.readHangUp, .hangUp]
        guard let found = openReadiness(of: descriptor, for: end.union(.read)) else { return nil }
        if found.isEmpty { return 0 }
        let count = found.isDisjoint(with: end) ? unreadBytes(in: descriptor) : 0
        return count > 0 ? Int(count) : nil
    }

    /// What a call has transferred.
    enum Transfer {
        case count(Int)
        /// Nothing can be transferred at the moment.
        case nothing
        case failed(LoopError)
    }

    /// Reads what has arrived, as much as fits. The count 0 is the end.
    static func receive(_ descriptor: Descriptor, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        transfer("read(\(descriptor))") { clinux_read(descriptor, buffer.baseAddress, UInt(buffer.count)) }
    }

    /// Sends as much as there is room for. Raises no SIGPIPE.
    static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Descriptor, isSocket: Bool) -> Transfer {
        transfer(isSocket ? "send(\(descriptor))" : "write(\(descriptor))") {
            isSocket
                ? clinux_send(descriptor, bytes.baseAddress, UInt(bytes.count))
                : clinux_write_quietly(descriptor, bytes.baseAddress, UInt(bytes.count))
        }
    }

    @inline(__always)
    private static func transfer(_ name: @autoclosure () -> String, _ call: () -> Int) -> Transfer {
        while true {
            let count = call()
            if count >= 0 { return .count(count) }
            let code = lastError
            if code == EAGAIN { return .nothing }
            if code != EINTR { return .failed(LoopError(call: name(), code: code)) }
        }
    }

    /// Tells the peer of a socket that nothing more will be sent. That the peer has gone (ENOTCONN) shows when
    /// something is received. Traps if the descriptor is no socket any more.
    static func finishSending(_ socket: Descriptor) {
        guard clinux_finish_sending(socket) < 0, lastError != ENOTCONN else { return }
        descriptorFailed("shutdown(\(socket))")
    }

    /// Lets the peer of a Unix socket send nothing more: its calls fail from now on (EPIPE). What they have accepted
    /// before can still be read, and then the end. Returns false of another socket: TCP goes on accepting.
    static func stopPeer(of socket: Descriptor) -> Bool {
        clinux_is_unix_socket(socket) == 1 && clinux_finish_receiving(socket) == 0
    }

    /// Whether the peer sends nothing more. What it has sent may not be read yet.
    static func hasPeerFinished(_ descriptor: Descriptor) -> Bool {
        openReadiness(of: descriptor, for: [.readHangUp, .hangUp]).map { !$0.isEmpty } ?? false
    }

    /// The error of a pipe that no process reads any more.
    static func brokenPipe(_ descriptor: Descriptor) -> LoopError {
        LoopError(call: "write(\(descriptor))", code: EPIPE)
    }

    // MARK: Connecting

    /// Makes a socket, and begins to connect it. It becomes writable when it is connected, or when that has failed.
    ///
    /// - Parameter name: The address, for the error.
    static func connect(to address: Address, _ name: String) throws(LoopError) -> Descriptor {
        let descriptor = try aboveStreams(check("socket", clinux_make_stream_socket(address.family)))
        guard connect(descriptor, address) < 0, lastError != EINPROGRESS else { return descriptor }
        let code = lastError
        close(descriptor)
        throw LoopError(call: "connect(\(name))", code: code)
    }

    private static func connect(_ descriptor: Descriptor, _ address: Address) -> Int32 {
        let bytes = address.bytes
        while true {
            let result = bytes.withUnsafeBytes { clinux_connect(descriptor, $0.baseAddress, UInt32($0.count)) }
            if result == 0 || lastError != EINTR { return result }
        }
    }

    /// Why a connection that was begun has failed; 0 if it has not.
    static func takeError(of socket: Descriptor) -> Int32 { clinux_take_error(socket) }

    // MARK: Listening

    /// Makes a socket that listens at an address.
    ///
    /// - Parameters:
    ///   - name: The address, for the error.
    ///   - sharesPort: Whether other sockets of the same user may listen at the same port.
    static func listen(
        at address: Address, _ name: String, backlog: Int32, sharesPort: Bool
    ) throws(LoopError) -> Descriptor {
        let descriptor = try aboveStreams(check("socket", clinux_make_stream_socket(address.family)))
        do throws(LoopError) {
            if address.family != AF_UNIX {
                try check("setsockopt(SO_REUSEADDR)", clinux_allow_reuse(descriptor))
                if sharesPort { try check("setsockopt(SO_REUSEPORT)", clinux_share_port(descriptor)) }
            }
            if bind(descriptor, address) < 0 {
                guard lastError == EADDRINUSE, removesDeadSocket(at: address) else {
                    throw LoopError(call: "bind(\(name))", code: lastError)
                }
                try check("bind(\(name))", bind(descriptor, address))
            }
            try check("listen(\(name))", clinux_listen(descriptor, backlog))
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func bind(_ descriptor: Descriptor, _ address: Address) -> Int32 {
        address.bytes.withUnsafeBytes { clinux_bind(descriptor, $0.baseAddress, UInt32($0.count)) }
    }

    /// Makes a listening socket non-blocking and closed on exec. Throws, and changes nothing, if it does not listen.
    static func adoptListener(_ descriptor: Descriptor) throws(LoopError) {
        try check("fcntl(\(descriptor), F_GETFL)", clinux_access_mode(descriptor))
        let call = "getsockopt(\(descriptor), SO_ACCEPTCONN)"
        let listens = clinux_is_listening(descriptor)
        if listens < 0, lastError != ENOTSOCK { throw LoopError(call: call) }
        guard listens == 1 else { throw LoopError(call: call, code: EINVAL, advice: "it is no socket that listens") }
        try check("fcntl(\(descriptor), F_SETFL)", clinux_make_nonblocking(descriptor))
    }

    /// What a listening socket had.
    enum Accepted {
        case connection(Descriptor)
        /// A connection that has failed already. Others may wait.
        case failedConnection
        case nothing
        /// Connections may wait, but none can be accepted now.
        case refused(LoopError)
    }

    static func accept(from listener: Descriptor) -> Accepted {
        let descriptor = clinux_accept(listener)
        if descriptor >= 0 {
            do throws(LoopError) { return .connection(try aboveStreams(descriptor)) } catch { return .refused(error) }
        }
        switch lastError {
        case EAGAIN: return .nothing
        case EBADF, ENOTSOCK: descriptorFailed("accept4(\(listener))")
        // Errors of the network, which the kernel passes on, are those of one connection.
        case EINTR, ECONNABORTED, EPROTO, EPERM, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, EHOSTUNREACH, EOPNOTSUPP,
            ENETUNREACH, ETIMEDOUT:
            return .failedConnection
        default: return .refused(LoopError(call: "accept4(\(listener))"))
        }
    }

    // MARK: The files of Unix sockets

    /// Identifies the file that a socket was bound to.
    struct SocketFile: Sendable {
        /// Without links: the current folder may change.
        fileprivate let path: String
        fileprivate let device: UInt64
        fileprivate let number: UInt64
        fileprivate let process: ProcessMark
    }

    /// The file of a socket that this process has just bound; nil if it has none.
    static func socketFile(of address: Address) -> SocketFile? {
        guard case .unix(let bytes) = address, let first = bytes.first, first != 0 else { return nil }
        let path = String(decoding: bytes, as: UTF8.self)
        let file = clinux_file_at(path)
        guard file.is_socket else { return nil }
        let whole = resolved(bytes + [0]).flatMap { String(validating: $0, as: UTF8.self) }
        return SocketFile(path: whole ?? path, device: file.device, number: file.number, process: .current)
    }

    /// Removes the file of a socket, unless another one has taken its place. Does nothing in a forked child.
    static func remove(_ file: SocketFile) {
        let found = clinux_file_at(file.path)
        guard file.process.isCurrent, found.is_socket, found.device == file.device, found.number == file.number else {
            return
        }
        unlink(file.path)
    }

    /// Removes the file of a Unix socket at which nothing listens any more. Returns whether it did.
    private static func removesDeadSocket(at address: Address) -> Bool {
        let code = lastError
        defer { clinux_set_errno(code) }
        guard let file = socketFile(of: address) else { return false }
        let made = try? aboveStreams(check("socket", clinux_make_stream_socket(AF_UNIX)))
        guard let descriptor = made else { return false }
        defer { close(descriptor) }
        guard connect(descriptor, address) < 0, lastError == ECONNREFUSED else { return false }
        remove(file)
        return true
    }
}
