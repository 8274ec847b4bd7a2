import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// When calls that leave the bytes of a pipe as they are make its source suspect, for made-up times.
@Suite(.timeBound) struct SpinSuspicionTests {
    private static func isSuspect(call: Int64, look: Int64, hasHungUp: Bool = false, after: Int32 = 1) throws -> Bool {
        let ends = Ends.pipe()
        var suspicion = SpinSuspicion()
        let reports = (0..<100).filter { _ in
            suspicion.compare((1, 0), (after, 0), (call, look), hasHungUp: hasHungUp, of: ends.reader)
        }
        #expect(reports.count <= 1)
        return !reports.isEmpty
    }

    @Test("A short call is shorter than 3 µs, or than eight looks on a machine that is slow")
    func shortCalls() throws {
        #expect(try Self.isSuspect(call: 2_999, look: 10))
        #expect(try !Self.isSuspect(call: 3_000, look: 10))
        #expect(try Self.isSuspect(call: 79_999, look: 10_000))
        #expect(try !Self.isSuspect(call: 80_000, look: 10_000))
    }

    @Test("Where nobody can refill what a call reads, its time does not count")
    func hangUps() throws {
        #expect(try Self.isSuspect(call: .max, look: 10, hasHungUp: true))
        #expect(try !Self.isSuspect(call: .max, look: 10, hasHungUp: true, after: 0))
    }
}
