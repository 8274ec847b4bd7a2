/// Finds out whether a level-triggered source's handler leaves its descriptor as it is, so that the loop spins.
///
/// One call in 64 is looked at. The source is suspect if 32 such calls in a row left the same numbers of bytes to be
/// read and to be sent. A peer could hide what a call does: it refills what the call reads, or takes what it writes. So
/// a call counts only if it was short, or the peer has hung up; and one of the later calls only if the peer did nothing
/// meanwhile (`PeerActivity`).
struct SpinSuspicion {
    /// One call in so many is looked at: a power of two.
    static let distance: UInt32 = 64
    private static let samples = 32

    /// A short call returns within 3 µs, or, where all is slower, within the time of eight looks at their quickest: a
    /// peer that is woken takes longer.
    private static let shortCall: Int64 = 3_000
    private static let looksInShortCall: Int64 = 8

    /// The numbers of bytes that wait in a descriptor to be read, and to be sent.
    typealias Bytes = (unread: Int32, unsent: Int32)

    /// How many nanoseconds a call took, and the look at the bytes before it.
    typealias Times = (call: Int64, look: Int64)

    private var calls: UInt32 = 0
    private var bytes: Bytes = (-1, -1)
    /// The shortest time of a look: one that was interrupted says nothing.
    private var quickestLook = UInt32.max
    private var unchanged: UInt8 = 0
    private var isOver = false

    /// Whether a look must find out what the peer does during the call, which takes five system calls more.
    var watchesPeer: Bool { unchanged >= SpinSuspicion.samples / 2 }

    /// Counts a call. Returns whether to look at it.
    @inline(__always)
    mutating func countCall() -> Bool {
        calls &+= 1
        return calls % SpinSuspicion.distance == 0 && !isOver
    }

    /// Compares what waits before and after a call. Returns true once, when the source is suspect.
    mutating func compare(
        _ before: Bytes, _ after: Bytes, _ times: Times, hasHungUp: Bool, peerActed: Bool, of descriptor: Descriptor
    ) -> Bool {
        quickestLook = min(quickestLook, UInt32(clamping: times.look))
        // A longer call says nothing: the thread may have been preempted.
        let limit = max(SpinSuspicion.shortCall, SpinSuspicion.looksInShortCall * Int64(quickestLook))
        guard hasHungUp || times.call < limit else { return false }
        unchanged = before == after && bytes == after && !peerActed ? unchanged + 1 : 0
        bytes = after
        guard unchanged == SpinSuspicion.samples else { return false }
        isOver = true
        return System.countsBytes(in: descriptor) && !System.mayHideReads(of: descriptor, hasHungUp: hasHungUp)
    }
}
