import RunLoopKit

/// Reads a descriptor on a loop, a piece at a time, whatever it is, and never blocks the loop for want of input.
///
/// A terminal, a pipe or a socket is waited for by a descriptor source. A regular file is always ready, and the kernel
/// refuses to watch it: a source that signals itself reads one piece in each pass, so that the loop has an eye for
/// other things between.
final class InputReader: Sendable {
    enum Input: Sendable {
        /// At least one.
        case bytes([UInt8])
        /// Nothing more will come.
        case end
        /// Nor after this: the errno of the read that failed.
        case failure(Int32)
    }

    typealias Handler = @Sendable (Input) -> Void

    /// As much as is read at once.
    private static let pieceSize = 1 << 16

    private let source: Loop.Item

    /// Begins to read.
    ///
    /// - Parameters:
    ///   - descriptor: Stays the caller's, and open, and as it is.
    ///   - loop: Whose thread the handler is called on, in the default mode.
    init(_ descriptor: Int32, on loop: Loop, handler: @escaping Handler) throws(LoopError) {
        source = try InputReader.waiting(descriptor, handler) ?? InputReader.repeating(descriptor, loop, handler)
        loop.add(source, in: .default)
    }

    /// Ends it before the input does. Its handler is not called any more.
    func stop() { source.invalidate() }

    /// Nil for what cannot be waited for.
    private static func waiting(_ descriptor: Int32, _ handler: @escaping Handler) throws(LoopError) -> Loop.Item? {
        let own = openAnew(descriptor)
        do {
            guard let own else {
                return try Loop.FileDescriptorSource(descriptor) { source, _ in
                    if !readPiece(of: descriptor, handler) { source.invalidate() }
                }
            }
            return try Loop.FileDescriptorSource(owning: own) { source, _ in
                if !readPiece(of: own, handler) { source.invalidate() }
            }
        } catch {
            if let own { close(own) }
            if error.errno == EPERM { return nil }
            throw error
        }
    }

    /// A terminal or a pipe may be shared: whoever else reads it can be faster, and a program that is stopped in the
    /// background finds, when it goes on, that nothing is left of what woke it. Only a non-blocking read is safe then;
    /// but that property, too, is shared with everyone who has inherited the open file. So it is opened once more.
    /// Nil for what is neither, or cannot be opened again, since it is another user's for instance.
    private static func openAnew(_ descriptor: Int32) -> Int32? {
        var status = stat()
        guard isatty(descriptor) == 1 || fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO else {
            return nil
        }
        let own = open("/proc/self/fd/\(descriptor)", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        return own >= 0 ? own : nil
    }

    private static func repeating(_ descriptor: Int32, _ loop: Loop, _ handler: @escaping Handler) -> Loop.Item {
        let itself = LoopBound<Loop.Source0?>(nil, on: loop)
        let source = Loop.Source0 {
            if readPiece(of: descriptor, handler) { itself.value?.signal() } else { itself.value?.invalidate() }
        }
        itself.value = source
        source.signal()
        return source
    }

    /// Reads what is there, up to a piece; false when nothing is to come.
    private static func readPiece(of descriptor: Int32, _ handler: Handler) -> Bool {
        var (count, error) = (0, Int32(0))
        let bytes = [UInt8](unsafeUninitializedCapacity: pieceSize) { buffer, initialized in
            count = read(descriptor, buffer.baseAddress, buffer.count)
            error = count < 0 ? errno : 0
            initialized = max(0, count)
        }
        if error == EAGAIN || error == EINTR { return true }
        handler(error != 0 ? .failure(error) : count == 0 ? .end : .bytes(bytes))
        return count > 0
    }
}
