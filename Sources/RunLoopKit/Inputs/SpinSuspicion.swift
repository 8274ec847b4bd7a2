/// Finds out whether a level-triggered source's handler leaves its descriptor as it is, so that the loop spins.
///
/// One call in 64 is looked at. The source is suspect if 32 such calls in a row left the same numbers of bytes to be
/// read and to be sent, and returned within 3 µs: a peer that refills what the handler has read takes longer.
struct SpinSuspicion {
    /// One call in so many is looked at: a power of two.
    static let distance: UInt32 = 64
    private static let samples = 32
    private static let shortCall: Int64 = 3_000

    /// What waits in a descriptor at a moment.
    struct Look {
        fileprivate let unread, unsent: Int32
        fileprivate let time: Int64

        init(at descriptor: Descriptor) {
            (unread, unsent) = System.waitingBytes(in: descriptor)
            time = System.monotonicNanoseconds()
        }
    }

    private var calls: UInt32 = 0
    private var (unread, unsent): (Int32, Int32) = (-1, -1)
    private var unchanged: UInt8 = 0
    private var isOver = false

    /// Counts a call. Returns whether to look at it.
    @inline(__always)
    mutating func countCall() -> Bool {
        calls &+= 1
        return calls % SpinSuspicion.distance == 0 && !isOver
    }

    /// Compares what two looks have found, before and after a call. Returns true once, when the source is suspect.
    mutating func compare(_ before: Look, _ after: Look, of descriptor: Descriptor) -> Bool {
        // A longer call says nothing: the thread may have been preempted.
        guard after.time - before.time < SpinSuspicion.shortCall else { return false }
        let isSame =
            (before.unread, before.unsent) == (after.unread, after.unsent)
            && (unread, unsent) == (after.unread, after.unsent)
        (unread, unsent) = (after.unread, after.unsent)
        unchanged = isSame ? unchanged + 1 : 0
        guard unchanged == SpinSuspicion.samples else { return false }
        isOver = true
        return System.countsBytes(in: descriptor)
    }
}
