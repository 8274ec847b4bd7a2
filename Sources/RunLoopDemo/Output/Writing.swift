/// The reason why a text was not written completely.
enum WriteFailure {
    /// The errno of the write that failed.
    case error(Int32)

    /// The program is to end, and the reader of the output has stopped reading.
    case interrupted
}

/// Writes all of `text`; returns nil on success.
///
/// Never blocks in `write`, which an interruption would not end, but in `poll` before it, which also waits for an
/// interruption. A pipe that is ready takes this many bytes at once.
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

/// How long, in milliseconds, a reader that does not read may delay the end of the program.
private let grace: Int32 = 1000

/// How often, in milliseconds, the program checks meanwhile for Ctrl-C, whose source is not served, and for what no
/// event announces.
private let glance: Int32 = 100

/// Waits until a write would not block, or would fail. Returns false if an interruption comes and the write would still
/// block after the grace period. Another signal ends that period.
private func waitUntilWritable(_ descriptor: Int32) -> Bool {
    var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    if poll(&output, 1, 0) > 0 { return true }
    var both = [output, pollfd(fd: Interruption.descriptor, events: Int16(POLLIN), revents: 0)]
    // After EINTR the entries are unchanged.
    while poll(&both, 2, glance) <= 0 { Interruption.requestIfPending() }
    return both[0].revents != 0 || poll(&output, 1, grace) > 0
}

/// Waits until the next glance at what no event announces. Returns false once the program is to end.
func waitForAMoment() -> Bool {
    var interruption = pollfd(fd: Interruption.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&interruption, 1, glance)
    Interruption.requestIfPending()
    return !Interruption.isRequested
}
