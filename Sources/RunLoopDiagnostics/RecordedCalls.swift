import RunLoopKit

/// The last calls of a pass, oldest first. Its size is fixed: a new call replaces the oldest one.
struct RecordedCalls {
    static let capacity = 1024

    private var ring: [RecordedCall] = []

    /// Where the next call is stored once the ring is full: the oldest one is there.
    private var next = 0

    /// The number of calls since the recording was empty, including those that were replaced.
    private(set) var total = 0

    var all: [RecordedCall] { Array(ring[next...] + ring[..<next]) }

    mutating func append(_ call: RecordedCall) {
        total += 1
        if ring.count < RecordedCalls.capacity { return ring.append(call) }
        ring[next] = call
        next = (next + 1) % RecordedCalls.capacity
    }

    mutating func removeAll() {
        ring.removeAll(keepingCapacity: true)
        (next, total) = (0, 0)
    }
}

/// A call, and where it came from.
struct RecordedCall {
    let tally: CallTally

    /// The watched call inside which it was made.
    let enclosing: CallTally?

    /// What the caller said about itself.
    let cause: String?

    let site: CallSite?

    /// Return addresses, the innermost first. Recorded only shortly before the threshold.
    let backtrace: [UInt]
}

/// A place in the source code.
struct CallSite {
    let file: StaticString
    let line: UInt
}
