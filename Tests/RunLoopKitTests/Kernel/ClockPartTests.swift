import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Times as a C library takes them, also where its seconds have 32 bits.
@Suite(.timeBound) struct ClockPartTests {
    @Test("A time beyond the last second is the last one, and traps nowhere")
    func parts() {
        func narrow(_ time: Int64) -> [Int64] {
            let (seconds, rest): (Int32, Int32) = System.parts(of: time)
            return [Int64(seconds), Int64(rest)]
        }
        func wide(_ time: Int64) -> [Int64] {
            let (seconds, rest): (Int64, Int) = System.parts(of: time)
            return [seconds, Int64(rest)]
        }
        let last: Int64 = 2_147_483_647
        for time in [0, 1, 999_999_999, 1_000_000_000, 5_000_000_007, last * 1_000_000_000 + 999_999_999] {
            #expect(narrow(time) == [time / 1_000_000_000, time % 1_000_000_000])
            #expect(wide(time) == narrow(time))
        }
        #expect(narrow((last + 1) * 1_000_000_000) == [last, 999_999_999])
        #expect(narrow(.max) == [last, 999_999_999])
        #expect(wide(.max) == [9_223_372_036, 854_775_807])
    }

    @Test("A timer in 100 years waits, and keeps its time")
    func farTimer() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let time = loop.now + .seconds(100 * 365 * 86_400)
            let timer = Loop.Timer(at: time) { _ in }
            loop.add(timer, in: .default)
            #expect(loop.run(mode: .default, for: .milliseconds(1)) == .timedOut)
            #expect(timer.nextFireTime == time)
        }
    }
}
