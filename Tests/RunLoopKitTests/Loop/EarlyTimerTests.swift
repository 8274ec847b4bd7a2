import TestSupport
import Testing

@testable import RunLoopKit

/// Whether a timerfd stays armed for an earlier time than a sleep's end.
@Suite(.timeBound) struct EarlyTimerTests {
    /// Sleeps so many times, and is then woken by the timerfd. Returns how many of the sleeps left it alone.
    private func sleep(_ count: Int, _ early: inout EarlyTimer) -> Int {
        var left = 0
        // The first arms it.
        _ = early.stays(false)
        for _ in 0..<count where early.stays(true) { left += 1 }
        early.didFire()
        return left
    }

    @Test("It stays as long as that saves many system calls for one sleep that ends too early")
    func pays() {
        var early = EarlyTimer()
        let many = (0..<10).map { _ in sleep(100, &early) }
        #expect(many.allSatisfy { $0 == 100 })
        let enough = (0..<10).map { _ in sleep(EarlyTimer.enough, &early) }
        #expect(enough.allSatisfy { $0 == EarlyTimer.enough })
    }

    @Test("After a sleep that ended too early for little, it is armed exactly for a while")
    func doesNotPay() {
        var early = EarlyTimer()
        let first = sleep(1, &early)
        #expect(first == 1)
        var left = 0
        for _ in 0..<EarlyTimer.pause { left += sleep(1, &early) }
        #expect(left == 0)
        let again = sleep(100, &early)
        #expect(again == 100)
    }

    @Test("Only the sleeps since the timerfd was last armed, or ended a sleep, count", arguments: [true, false])
    func count(endsASleep: Bool) {
        var early = EarlyTimer()
        for _ in 0..<EarlyTimer.enough { _ = early.stays(true) }
        if endsASleep { early.didFire() } else { _ = early.stays(false) }
        let stays = early.stays(true)
        early.didFire()
        let staysAfterThat = early.stays(true)
        #expect(stays && !staysAfterThat)
    }

    @Test("A sleep that ended in time is no reason")
    func inTime() {
        var early = EarlyTimer()
        for _ in 0..<100 {
            let stays = early.stays(false)
            #expect(!stays)
            early.didFire()
        }
        let later = sleep(5, &early)
        #expect(later == 5)
    }
}
