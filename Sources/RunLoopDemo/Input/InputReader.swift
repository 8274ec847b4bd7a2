import RunLoopKit

/// Reads a descriptor of any kind, also a regular file, and hands what comes to a loop.
///
/// A thread of its own waits for the input, since a read of a file or of a terminal in the background blocks. It reads
/// on only when the handler has returned, so that no more is in memory than is being worked on.
struct InputReader: Sendable {
    enum Input: Sendable {
        /// At least one.
        case bytes([UInt8])
        /// Nothing more will come.
        case end
        /// Nor after this: the errno of the read that failed.
        case failure(Int32)
    }

    /// As much as is read at once.
    private static let chunk = 1 << 18

    private let descriptor: Int32
    private let loop: Loop
    private let handler: @Sendable (Input) -> Void
    private let thread: LoopThread

    /// - Parameters:
    ///   - descriptor: Stays the caller's, and open.
    ///   - loop: Whose thread the handler is called on, in the common modes.
    init(_ descriptor: Int32, on loop: Loop, handler: @escaping @Sendable (Input) -> Void) throws(LoopError) {
        self.descriptor = descriptor
        self.loop = loop
        self.handler = handler
        thread = try LoopThread(name: "input")
    }

    /// Begins. There is no end but the input's: a thread that waits in a read goes with the process.
    func start() { thread.perform { readAndHandOver() } }

    private func readAndHandOver() {
        let input = readOnce()
        loop.perform(in: .common) {
            handler(input)
            if case .bytes = input { start() }
        }
    }

    private func readOnce() -> Input {
        var count = 0
        var error: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: InputReader.chunk) { buffer, initialized in
            repeat {
                count = read(descriptor, buffer.baseAddress, buffer.count)
                error = count < 0 ? errno : 0
                if error == EAGAIN { waitUntilReadable(descriptor) }
            } while error == EINTR || error == EAGAIN
            initialized = max(0, count)
        }
        if error != 0 { return .failure(error) }
        return count == 0 ? .end : .bytes(bytes)
    }
}

/// The terminal may have been made non-blocking by whoever shares it.
private func waitUntilReadable(_ descriptor: Int32) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    poll(&entry, 1, -1)
}
