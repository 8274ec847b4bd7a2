#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A pipe for one byte at a time.
final class BytePipe: Sendable {
    struct Failure: Error { let code: Int32 }

    let output: Int32
    private let input: Int32

    init() throws(Failure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(code: errno) }
        (output, input) = (ends[0], ends[1])
    }

    deinit {
        close(output)
        close(input)
    }

    func send() {
        var byte: UInt8 = 1
        precondition(write(input, &byte, 1) == 1)
    }

    func receive() {
        var byte: UInt8 = 0
        precondition(read(output, &byte, 1) == 1)
    }
}
