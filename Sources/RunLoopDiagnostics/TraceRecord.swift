import RunLoopKit

/// An event as the ring holds it.
struct TraceRecord {
    enum Code: UInt8 {
        case reached = 1, willCallOut, didCallOut, willWait, didWait, wasWoken, handedOver, queueLengths
    }

    var code: Code
    /// Of a callout or a handover: `Loop.HandlerKind`.
    var kind: UInt8 = 0
    /// The index of the loop in the tracer; of a handover, of the loop that is handed the work.
    var loop: UInt16 = TraceRecord.noLoop
    /// The index of the thread in `TraceThreads`.
    var thread: UInt16 = 0
    /// Of the end of a wait: whether a wake-up ended it.
    var flag: UInt16 = 0
    /// Of an item or a mode, in `TraceNames`; 0 without one.
    var name: UInt32 = 0
    /// The activity of `reached` and of an observer; the number of blocks; the passes that took nothing.
    var small: UInt32 = 0
    /// In nanoseconds.
    var time: Int64
    /// The number of a handover or of a callout's cause; a deadline; the number of ready descriptors, or of jobs.
    var number: UInt64 = 0
    /// In nanoseconds.
    var lateness: Int64 = 0
    var place = Place.unknown

    static let noLoop = UInt16.max

    /// Of a handover, and of the callout that it causes.
    var handoverID: LoopTrace.HandoverID { LoopTrace.HandoverID(loop: Int(loop), number: number) }

    init(_ code: Code, at time: Int64) {
        self.code = code
        self.time = time
    }

    @inline(__always)
    var words: TraceRing.Words {
        let head = UInt64(code.rawValue) | UInt64(kind) << 8 | UInt64(loop) << 16 | UInt64(thread) << 32
        let place = place.words
        return (
            UInt64(bitPattern: time), head | UInt64(flag) << 48, UInt64(name) | UInt64(small) << 32, number,
            UInt64(bitPattern: lateness), place.0, place.1
        )
    }

    /// Nil if the words are those of no event.
    init?(_ words: TraceRing.Words) {
        guard let code = Code(rawValue: UInt8(truncatingIfNeeded: words.1)) else { return nil }
        self.init(code, at: Int64(bitPattern: words.0))
        kind = UInt8(truncatingIfNeeded: words.1 >> 8)
        loop = UInt16(truncatingIfNeeded: words.1 >> 16)
        thread = UInt16(truncatingIfNeeded: words.1 >> 32)
        flag = UInt16(truncatingIfNeeded: words.1 >> 48)
        name = UInt32(truncatingIfNeeded: words.2)
        small = UInt32(truncatingIfNeeded: words.2 >> 32)
        number = words.3
        lateness = Int64(bitPattern: words.4)
        place = Place(words: (words.5, words.6))
    }
}
