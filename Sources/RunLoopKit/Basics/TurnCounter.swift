import Synchronization

/// Sequence numbers of a loop's events: of two events of which one happens before the other, the first has the smaller
/// number.
///
/// A loop has a counter of its own, so that threads which send to different loops write no common word. It is a logical
/// clock, as Lamport describes it. What joins a loop with a number from another raises the loop's counter to it.
///
/// Some events happen outside of one loop: a source is signalled that is in several, or in none yet. Such an event
/// begins a period of the process. A number has that of its period in the upper bits, and that of the event in the
/// lower ones. A loop reads the period, and begins one when its lower bits overflow:
///
/// | event | its number |
/// |---|---|
/// | outside of one loop | the first of a new period, and so larger than all before it in every loop |
/// | of a loop | larger than the loop's last, and than the first of the present period |
///
/// All accesses are relaxed: the numbers order events and publish nothing. In the modification order of its counter, an
/// event's number comes before that of each event that it happens before.
final class TurnCounter: Sendable {
    /// The number of bits for the events of a loop in one period.
    private static var shift: UInt64 { 20 }

    /// The period of the process: seldom written.
    private static let period = Atomic<UInt64>(1)

    /// The loop's last number.
    private let last = Atomic<UInt64>(0)

    init() { Self.prepare() }

    /// Initializes what must not be initialized in a signal handler.
    static func prepare() { _ = period.load(ordering: .relaxed) }

    /// Smaller than every number, and not 0, which means none.
    static var beforeAll: UInt64 { 1 }

    /// The number of an event outside of one loop: in none, or in several.
    static func nextOutside() -> UInt64 { period.wrappingAdd(1, ordering: .relaxed).newValue << shift }

    /// The number of an event of the loop.
    func next() -> UInt64 {
        let period = Self.period.load(ordering: .relaxed)
        raise(to: period << Self.shift)
        let turn = last.wrappingAdd(1, ordering: .relaxed).newValue
        if turn >> Self.shift > period { return nextSlowly(turn) }
        return turn
    }

    /// The lower bits have overflowed. The first number of a period belongs to an event outside of one loop.
    @inline(never)
    private func nextSlowly(_ turn: UInt64) -> UInt64 {
        Self.period.max(turn >> Self.shift, ordering: .relaxed)
        return turn & (1 << Self.shift - 1) == 0 ? next() : turn
    }

    /// Makes all later numbers larger than `turn`.
    func raise(to turn: UInt64) {
        // Mostly without a write.
        if last.load(ordering: .relaxed) < turn { last.max(turn, ordering: .relaxed) }
    }
}
