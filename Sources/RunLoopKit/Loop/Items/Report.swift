/// What the kernel has reported of a version-1 source, and how long ago.
struct Report: BitwiseCopyable {
    enum Age: UInt8 {
        /// Handlers, or code between two runs, may have changed anything.
        case old
        /// The kernel has not been asked since, and no run has begun; but handlers have been called.
        case recent
        /// No handler has been called since.
        case fresh
    }

    /// The answer's number, the age in two bits, and the events in 16. One word: with more, what a pass has found is
    /// not returned in registers, which takes each pass 25 instructions.
    private let bits: UInt64

    init(events: PollEvents, age: Age, answer: UInt64) {
        bits = answer << 18 | UInt64(age.rawValue) << 16 | UInt64(events.rawValue & 0xFFFF)
    }

    var events: PollEvents { PollEvents(rawValue: UInt32(bits & 0xFFFF)) }

    var age: Age { Age(rawValue: UInt8(bits >> 16 & 3)).unsafelyUnwrapped }

    /// The number of the answer: see `Waker.answer`. One of more than 46 bits is cut: the kernel is asked again then.
    var answer: UInt64 { bits >> 18 }

    /// What a source has to handle, as it has just found out.
    static func fresh(_ events: PollEvents) -> Report { Report(events: events, age: .fresh, answer: 0) }

    /// The same report, after observers have been called. They may have read what no other handler has.
    var afterObservers: Report { Report(events: events, age: age == .recent ? .recent : .old, answer: answer) }
}

/// The calls of the handler that reads a source's descriptor. A report is about what they have not read if none has
/// begun or ended since, and none is active.
///
/// Guarded by the item's lock.
struct ReadingCalls {
    /// The number of active calls, on the loop's thread; more than one if runs nest.
    private(set) var active = 0

    /// The number of the kernel's last answer when a call last began or ended. `max` if it is not known.
    private var last: UInt64 = 0

    func areOver(before report: Report) -> Bool { active == 0 && report.answer > last }

    @inline(__always)
    mutating func begin(in mode: ModeState) {
        active += 1
        last = mode.waker.answer
    }

    /// - Parameter stays: Whether the source is still in the mode. Another loop numbers its answers by itself.
    @inline(__always)
    mutating func end(in mode: ModeState, stays: Bool) {
        active -= 1
        last = stays ? mode.waker.answer : .max
    }

    /// No report counts until the next call.
    mutating func distrustReports() { last = .max }
}
