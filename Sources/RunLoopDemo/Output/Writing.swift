/// Why not all of a text was written.
enum WriteFailure {
    /// The errno of the write that failed.
    case error(Int32)

    /// The program is to end, and whatever reads the output does not go on.
    case interrupted
}

/// Writes all of `text`, unless that fails: nil is success.
///
/// Never blocks in `write`, which an interruption would not end, but in `poll` before it, which also waits for one. A
/// pipe that is ready takes this many bytes at once.
func writeAll(_ text: String, to descriptor: Int32) -> WriteFailure? {
    var text = text
    return text.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            guard waitUntilWritable(descriptor) else { return .interrupted }
            let count = write(descriptor, rest.baseAddress, min(rest.count, Int(PIPE_BUF)))
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } else if errno != EINTR, errno != EAGAIN {
                return .error(errno)
            }
        }
        return nil
    }
}

/// How long, in milliseconds, whatever reads the output may keep a program waiting that is to end.
private let grace: Int32 = 1000

/// How often, in milliseconds, the program looks meanwhile for a signal that no handler hears.
private let glance: Int32 = 100

/// Waits until a write does not block, or fails; false when the program is interrupted meanwhile, and within a moment
/// it still would. Another signal ends that moment.
private func waitUntilWritable(_ descriptor: Int32) -> Bool {
    var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    if poll(&output, 1, 0) > 0 { return true }
    var both = [output, pollfd(fd: Interruption.descriptor, events: Int16(POLLIN), revents: 0)]
    // EINTR leaves both as they were.
    while poll(&both, 2, glance) <= 0 { Interruption.requestIfPending() }
    return both[0].revents != 0 || poll(&output, 1, grace) > 0
}
