import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// When calls that leave the bytes of a pipe as they are make its source suspect, for made-up times.
@Suite(.timeBound) struct SpinSuspicionTests {
    private static func isSuspect(
        call: Int64, looks: [Int64], in ends: Ends = .pipe(), hasHungUp: Bool = false, after: Int32 = 1,
        peerActs: Bool = false
    ) -> Bool {
        var suspicion = SpinSuspicion()
        let reports = (0..<200).filter { number in
            suspicion.compare(
                (1, 0), (after, 0), (call, looks[number % looks.count]), hasHungUp: hasHungUp,
                peerActed: suspicion.watchesPeer && peerActs, of: ends.reader)
        }
        #expect(reports.count <= 1)
        return !reports.isEmpty
    }

    @Test("A short call is shorter than 3 µs, or than eight looks on a machine that is slow")
    func shortCalls() {
        #expect(Self.isSuspect(call: 2_999, looks: [10]))
        #expect(!Self.isSuspect(call: 3_000, looks: [10]))
        #expect(Self.isSuspect(call: 79_999, looks: [10_000]))
        #expect(!Self.isSuspect(call: 80_000, looks: [10_000]))
    }

    @Test("A look that was interrupted makes no call short")
    func interruptedLooks() { #expect(!Self.isSuspect(call: 50_000, looks: [500, 10_000, 500, 1_000_000])) }

    @Test("A pipe that its writer may keep full is not suspect, unless the writer has hung up")
    func fullPipe() {
        let ends = Ends.pipe()
        ends.send(String(repeating: "x", count: 40_000))
        #expect(!Self.isSuspect(call: 1, looks: [10], in: ends))
        #expect(Self.isSuspect(call: 1, looks: [10], in: ends, hasHungUp: true))
    }

    @Test("Where nobody can refill what a call reads, its time does not count")
    func hangUps() {
        #expect(Self.isSuspect(call: .max, looks: [10], hasHungUp: true))
        #expect(!Self.isSuspect(call: .max, looks: [10], hasHungUp: true, after: 0))
    }

    @Test("A source is not suspect while others write or read during its calls")
    func activePeer() {
        #expect(!Self.isSuspect(call: 1_000, looks: [10], peerActs: true))
        #expect(!Self.isSuspect(call: 1_000, looks: [10], hasHungUp: true, peerActs: true))
    }
}
