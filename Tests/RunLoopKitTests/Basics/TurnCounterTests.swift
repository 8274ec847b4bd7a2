import TestSupport
import Testing

@testable import RunLoopKit

/// The sequence numbers of a loop's events at the end of a period of the process.
@Suite(.timeBound) struct TurnCounterTests {
    /// The events of a loop in one period.
    private static let room: UInt64 = 1 << 20

    @Test("A loop that has used up a period takes no number of an event outside of it")
    func endOfAPeriod() {
        // Other tests begin periods too: then the loop has not used up the last one.
        for _ in 0..<50 {
            let outside = TurnCounter.nextOutside()
            let counter = TurnCounter()
            counter.raise(to: outside + Self.room - 1)
            let first = counter.next()
            #expect(first > outside + Self.room - 1 && first % Self.room != 0)
            #expect(counter.next() > first && TurnCounter.nextOutside() > first)
        }
    }
}
