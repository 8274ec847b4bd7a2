import CLinux

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Two connected ends: a pipe, or a pair of sockets. Nothing here blocks, and programs that another test starts do not
/// inherit the ends: they would keep them open.
package final class Ends: Sendable {
    package let reader: Int32
    package let writer: Int32

    private init(_ ends: [Int32]) { (reader, writer) = (ends[0], ends[1]) }

    package static func pipe() -> Ends {
        var ends: [Int32] = [-1, -1]
        precondition(pipe2(&ends, Int32(O_CLOEXEC) | Int32(O_NONBLOCK)) == 0)
        return Ends(ends)
    }

    /// For programs that block until input arrives.
    package static func blockingPipe() -> Ends {
        var ends: [Int32] = [-1, -1]
        precondition(pipe2(&ends, Int32(O_CLOEXEC)) == 0)
        return Ends(ends)
    }

    package static func sockets(ofDatagrams: Bool = false) -> Ends {
        let type = ofDatagrams ? SOCK_DGRAM : SOCK_STREAM
        #if canImport(Glibc)
            let kind = Int32(type.rawValue)
        #else
            let kind = Int32(type)
        #endif
        var ends: [Int32] = [-1, -1]
        // SOCK_CLOEXEC and SOCK_NONBLOCK, which the C libraries declare with different types.
        precondition(socketpair(AF_UNIX, kind | Int32(O_CLOEXEC) | Int32(O_NONBLOCK), 0, &ends) == 0)
        return Ends(ends)
    }

    /// The test declares which ends it has closed itself or given away.
    deinit {
        if !isReaderClosed { close(reader) }
        if !isWriterClosed { close(writer) }
    }

    package nonisolated(unsafe) var isReaderClosed = false
    package nonisolated(unsafe) var isWriterClosed = false

    package func send(_ text: String) {
        let bytes = Array(text.utf8)
        precondition(write(writer, bytes, bytes.count) == bytes.count)
    }

    /// Up to `count` available bytes; "" at the end, nil if nothing is available.
    package func take(_ count: Int = 4096) -> String? { readText(reader, count) }

    /// Closes the writer's end, and waits until it is gone. Its last descriptor may not be the last: a program that
    /// another test is starting has copies of all descriptors until its exec, of those that close on exec too.
    package func hangUp() {
        closeWriter()
        waitForHangUpOrError(at: reader)
    }

    /// The same for the reader's end.
    package func stopReading() {
        closeReader()
        waitForHangUpOrError(at: writer)
    }

    /// Closes a descriptor of the writer's end that is not the last: a child or a source has another.
    package func closeWriter() {
        close(writer)
        isWriterClosed = true
    }

    /// The same for the reader's end.
    package func closeReader() {
        close(reader)
        isReaderClosed = true
    }

    /// Waits until a child or a source has closed the last descriptor of the writer's end.
    package func waitUntilWriterIsGone() { waitForHangUpOrError(at: reader) }

    /// The same for the reader's end.
    package func waitUntilReaderIsGone() { waitForHangUpOrError(at: writer) }

    private func waitForHangUpOrError(at descriptor: Int32) {
        var request = pollfd(fd: descriptor, events: 0, revents: 0)
        while poll(&request, 1, -1) < 0, errno == EINTR {}
    }
}

package func readText(_ descriptor: Int32, _ count: Int = 4096) -> String? {
    var bytes = [UInt8](repeating: 0, count: count)
    let got = read(descriptor, &bytes, count)
    return got < 0 ? nil : String(decoding: bytes[..<got], as: UTF8.self)
}

/// Makes `number` refer to the file of `descriptor`, as if it had been closed and reused.
package func reuse(_ number: Int32, for descriptor: Int32) { precondition(dup2(descriptor, number) == number) }

package func finishWriting(_ socket: Int32) { shutdown(socket, Int32(SHUT_WR)) }

package func isOpen(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) >= 0 }

/// A descriptor of a pipe's name: nothing can be read from it.
package func openNameOfPipe() -> Int32 {
    let path = "/tmp/RunLoopKit-\(UInt64.random(in: 0 ... .max))"
    precondition(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    return open(path, 0o10_000_000 | O_CLOEXEC)  // O_PATH, which Glibc declares for GNU sources only
}

/// Opens a file for reading.
package func openFile(_ path: String) -> Int32 { open(path, O_RDONLY | O_CLOEXEC) }

package func closeFile(_ descriptor: Int32) { close(descriptor) }

extension Ends {
    /// A TCP connection of this machine with itself.
    package static func connection() -> Ends {
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = Int32(SOCK_STREAM)
        #endif
        let listener = socket(AF_INET, kind, 0)
        defer { close(listener) }
        precondition(listen(listener, 1) == 0, "an unbound listener gets a port of its own")
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let writer = socket(AF_INET, kind, 0)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(getsockname(listener, $0, &size) == 0)
                precondition(connect(writer, $0, size) == 0)
            }
        }
        return Ends([accept(listener, nil, nil), writer])
    }
}

package func sendOutOfBand(_ socket: Int32) {
    precondition(send(socket, "!", 1, Int32(MSG_OOB)) == 1)
}

/// Waits until out-of-band data has arrived.
package func waitUntilUrgent(_ socket: Int32) {
    var request = pollfd(fd: socket, events: Int16(POLLPRI), revents: 0)
    while poll(&request, 1, -1) < 0, errno == EINTR {}
}

package func closesOnExec(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0 }

/// A file on which this process holds a POSIX lock.
package final class LockedFile {
    package let descriptor: Int32

    package init() {
        var path = Array("/tmp/RunLoopKit-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        unlink(path)
        var lock = LockedFile.wholeFile
        precondition(fcntl(descriptor, F_SETLK, &lock) == 0)
    }

    deinit { close(descriptor) }

    /// Asked through another open file, as another process would: a process's own locks never conflict.
    package var isLocked: Bool {
        let other = open("/proc/self/fd/\(descriptor)", O_RDWR | O_CLOEXEC)
        defer { close(other) }
        var lock = LockedFile.wholeFile
        let getOpenFileLock: Int32 = 36  // F_OFD_GETLK
        precondition(fcntl(other, getOpenFileLock, &lock) == 0)
        return lock.l_type != Int16(F_UNLCK)
    }

    private static var wholeFile: flock {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        return lock
    }
}
