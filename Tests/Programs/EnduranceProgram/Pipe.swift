#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A pipe that never blocks, and that no child gets. Its owner closes it.
struct Pipe {
    let reader: Int32
    let writer: Int32

    init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "no pipe: error \(errno)")
        for end in ends {
            precondition(fcntl(end, F_SETFD, FD_CLOEXEC) == 0 && fcntl(end, F_SETFL, O_NONBLOCK) == 0)
        }
        (reader, writer) = (ends[0], ends[1])
    }

    func writeOne() {
        var byte: UInt8 = 1
        precondition(write(writer, &byte, 1) == 1)
    }

    /// Reads what is there. Returns how many bytes that were, at most 64.
    func readAll() -> Int {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { bytes in
            max(0, read(reader, bytes.baseAddress!, bytes.count))
        }
    }

    func closeBoth() {
        close(reader)
        close(writer)
    }
}
