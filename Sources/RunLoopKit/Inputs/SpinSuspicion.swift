/// Finds out whether a level-triggered source's handler leaves its descriptor as it is, so that the loop spins.
///
/// One call in 64 is looked at. The source is suspect if 32 such calls in a row left the same numbers of bytes to be
/// read and to be sent, and returned within 3 µs: a peer that refills what the handler has read takes longer.
struct SpinSuspicion {
    /// One call in so many is looked at: a power of two.
    static let distance: UInt32 = 64
    private static let samples = 32
    private static let shortCall: Int64 = 3_000

    /// The numbers of bytes that wait in a descriptor to be read, and to be sent.
    typealias Bytes = (unread: Int32, unsent: Int32)

    private var calls: UInt32 = 0
    private var bytes: Bytes = (-1, -1)
    private var unchanged: UInt8 = 0
    private var isOver = false

    /// Counts a call. Returns whether to look at it.
    @inline(__always)
    mutating func countCall() -> Bool {
        calls &+= 1
        return calls % SpinSuspicion.distance == 0 && !isOver
    }

    /// Compares what waits before and after a call. Returns true once, when the source is suspect.
    mutating func compare(_ before: Bytes, _ after: Bytes, nanoseconds: Int64, of descriptor: Descriptor) -> Bool {
        // A longer call says nothing: the thread may have been preempted.
        guard nanoseconds < SpinSuspicion.shortCall else { return false }
        unchanged = before == after && bytes == after ? unchanged + 1 : 0
        bytes = after
        guard unchanged == SpinSuspicion.samples else { return false }
        isOver = true
        return System.countsBytes(in: descriptor)
    }
}
