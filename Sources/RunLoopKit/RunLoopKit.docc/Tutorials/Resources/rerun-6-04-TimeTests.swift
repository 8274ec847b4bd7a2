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
}
