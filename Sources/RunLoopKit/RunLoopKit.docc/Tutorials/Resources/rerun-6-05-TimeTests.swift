import RunLoopKit
import Testing

@testable import rerun

@Suite struct TimeTests {
    @Test("A file that is written again and again is reported once it rests")
    func rests() {
        let clock = VirtualClock()
        let loop = Loop(clock: clock)
        let reported = LoopBound<[String]>([], on: loop)
        let changes = Changes(on: loop) { reported.value.append($0) }
        changes.rest = .milliseconds(200)

        for time in [0, 100, 200, 300] {
            let write = Loop.Timer(after: .milliseconds(time)) { _ in
                changes.note("index")
            }
            loop.add(write)
        }
        loop.run()

        #expect(reported.value == ["index"])
        #expect(clock.now == Loop.Instant(nanoseconds: 500_000_000))
    }

    @Test("The pauses double, up to ten seconds")
    func pauses() {
        let clock = VirtualClock(.manual)
        let loop = Loop(clock: clock)
        let calls = LoopBound(0, on: loop)
        let retry = Retry(on: loop)
        retry.setAction { calls.value += 1 }

        clock.advance(by: .seconds(3600))
        #expect(calls.value == 0)  // Nothing was scheduled.
        for (index, tenths) in [1, 2, 4, 8, 16, 32, 64, 100, 100].enumerated() {
            let pause = retry.schedule()
            #expect(pause == .milliseconds(100 * tenths))
            clock.advance(by: pause - .nanoseconds(1))
            #expect(calls.value == index)
            clock.advance(by: .nanoseconds(1))
            #expect(calls.value == index + 1)
        }
        retry.reset()
        #expect(retry.schedule() == .milliseconds(100))
    }
}
