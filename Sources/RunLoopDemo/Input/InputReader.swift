import RunLoopKit

/// Reads any descriptor on a loop, a piece at a time, and never blocks the loop while there is no input.
///
/// A descriptor source waits for a terminal, a pipe or a socket. A regular file is always ready, and the kernel refuses
/// to watch it: a source that signals itself reads one piece in each pass, so that the loop can serve other sources in
/// between.
final class InputReader: Sendable {
    enum Input: Sendable {
        /// At least one byte.
        case bytes([UInt8])
        /// The end of the input; no event follows.
        case end
        /// The errno of the read that failed; no event follows.
        case failure(Int32)
    }

    typealias Handler = @Sendable (Input) -> Void

    /// The most bytes of one read.
    private static let pieceSize = 1 << 16

    private let source: Loop.Item

    /// Begins to read.
    ///
    /// - Parameters:
    ///   - descriptor: Stays open and unchanged; the caller still owns it.
    ///   - loop: The loop whose thread calls the handler, in the default mode.
    init(_ descriptor: Int32, on loop: Loop, handler: @escaping Handler) throws(LoopError) {
        source = try InputReader.waiting(descriptor, handler) ?? InputReader.repeating(descriptor, loop, handler)
        source.label = "input"
        loop.add(source, in: .default)
    }

    /// Ends the reading before the end of the input. The handler is not called any more.
    func stop() { source.invalidate() }

    /// Nil for a descriptor that cannot be waited for.
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

    /// Other programs may share a terminal or a pipe and read its input first; and a program that was stopped in the
    /// background can find, when it continues, that another program has read the input that woke it. Only a
    /// non-blocking read is safe then. Every process that has inherited the open file shares that property too, so this
    /// opens the file again. Nil for other kinds of files, and if opening fails, for instance because another user owns
    /// the file.
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

    /// Reads at most a piece of the available input; returns false at the end.
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
