import RunLoopKit

/// What the monitors of a tracer share: the ring, and the tables of names.
final class TraceRecorder: Sendable {
    let ring: TraceRing
    let threads = TraceThreads()
    let names = TraceNames()
    private let clock: LoopTime

    init(capacity: Int, clock: VirtualClock?) {
        ring = TraceRing(capacity: capacity)
        self.clock = clock.map { .virtual($0) } ?? .monotonic
    }

    /// Takes no lock, unlike a read of a virtual clock by a loop.
    @inline(__always)
    var now: Int64 {
        switch clock {
        case .monotonic: System.monotonicNanoseconds()
        case .virtual(let clock): clock.nanosecondsWithoutLock
        }
    }

    /// Records an event of the calling thread. From any thread, even in a Unix signal handler.
    @inline(__always)
    func record(_ code: TraceRecord.Code, at time: Int64, _ fill: (inout TraceRecord) -> Void) {
        var record = TraceRecord(code, at: time)
        record.thread = threads.indexOfCurrent
        fill(&record)
        ring.write(record.words)
    }
}
