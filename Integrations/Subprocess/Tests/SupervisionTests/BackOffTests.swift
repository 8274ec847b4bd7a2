import TestSupport
import Testing

@testable import Supervision

/// The pure parts.
@Suite(.timeBound) struct BackOffTests {
    @Test("Delays double up to the limit")
    func doubling() {
        var backOff = BackOff(first: .seconds(1), longest: .seconds(6), healthy: .seconds(10))
        let delays = (1...5).map { _ in backOff.delay(afterRunOf: .seconds(9)) }
        #expect(delays == [.seconds(1), .seconds(2), .seconds(4), .seconds(6), .seconds(6)])
    }

    @Test("After a run that was long enough delays begin again")
    func healthyRun() {
        var backOff = BackOff(first: .seconds(1), longest: .seconds(60), healthy: .seconds(10))
        let delays = [0, 0, 10, 0].map { backOff.delay(afterRunOf: .seconds($0)) }
        #expect(delays == [.seconds(1), .seconds(2), .seconds(1), .seconds(2)])
    }

    @Test("Lines are put together from parts")
    func lines() {
        var lines = Lines()
        let parts = ["one\ntw", "o", "", "\n\nthree"].map { lines.append($0.utf8) }
        #expect(parts == [["one"], [], [], ["two", ""]])
        #expect(lines.finish() == ["three"])
        #expect(lines.finish() == [])
    }
}
