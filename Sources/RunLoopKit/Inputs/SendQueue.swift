/// Bytes that wait for room in the kernel. In one piece, so that one system call takes all of them.
///
/// Adding is amortized: a byte is copied once as it is added, and on average once more as the queue empties. The first
/// bytes of an empty queue are not copied.
struct SendQueue {
    private var bytes: [UInt8] = []

    /// How many bytes at the beginning have been sent.
    private var sent = 0

    var count: Int { bytes.count - sent }
    var isEmpty: Bool { count == 0 }

    /// Adds what an array has behind `start`.
    mutating func append(_ added: [UInt8], from start: Int) {
        guard !isEmpty else { return (bytes, sent) = (added, start) }
        if sent > bytes.count / 2 { removeSent() }
        bytes += added[start...]
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
    }

    /// Removes bytes at the beginning.
    mutating func removeFirst(_ count: Int) {
        sent += count
        if isEmpty { self = SendQueue() }
    }

    private mutating func removeSent() {
        bytes.removeFirst(sent)
        sent = 0
    }
}
