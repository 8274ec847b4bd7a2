import RunLoopKit
import Testing

/// What HWThrottle and HWDebounce do: two modes each, a task without input.
@Suite struct HWThrottleTests {
    private typealias Scene = RateLimitScene

    /// When the task runs, in milliseconds, if the limiter is called at these times.
    private func tasks(
        callsAt times: [Int64], _ make: (Loop, @escaping @Sendable () -> Void) -> RateLimiter<Void>
    ) -> [Int64] {
        let scene = Scene()
        let limiter = make(scene.loop) { scene.write(0) }
        for time in times { scene.at(time) { limiter() } }
        scene.run()
        return scene.log.entries.map(\.time)
    }

    // MARK: The four modes

    @Test func throttleLeadingRunsTheFirstAndIgnoresTheRestOfTheInterval() {
        let ran = tasks(callsAt: [0, 30, 99, 100, 150, 260]) {
            Throttle(interval: .milliseconds(100), edges: .leading, on: $0, action: $1)
        }
        #expect(ran == [0, 100, 260])
    }

    @Test func throttleTrailingRunsAnIntervalAfterTheFirstCallOfAWindow() {
        let ran = tasks(callsAt: [0, 30, 99, 500, 520]) {
            Throttle(interval: .milliseconds(100), edges: .trailing, on: $0, action: $1)
        }
        #expect(ran == [100, 600])
    }

    @Test func throttleTrailingRunsAnIntervalAfterTheLastActionIfThatIsLater() {
        let scene = Scene()
        let limiter = Throttle<Void>(interval: .milliseconds(100), edges: .trailing, on: scene.loop) {
            scene.write(0)
        }
        scene.at(0) { limiter() }
        // An action before its time: an interval from there, not from the calls that follow.
        scene.at(50) { limiter.flush() }
        scene.at(60) { limiter() }
        scene.run()
        #expect(scene.log.entries.map(\.time) == [50, 160])
    }

    @Test func throttleTrailingRunsOnceInEachIntervalWhileCallsKeepComing() {
        let ran = tasks(callsAt: Array(stride(from: 0, through: 450, by: 10))) {
            Throttle(interval: .milliseconds(100), edges: .trailing, on: $0, action: $1)
        }
        #expect(ran == [100, 200, 300, 400, 500])
    }

    @Test func debounceTrailingRunsAnIntervalAfterTheLastCall() {
        let ran = tasks(callsAt: [0, 60, 120, 500]) {
            Debounce(interval: .milliseconds(100), edges: .trailing, on: $0, action: $1)
        }
        #expect(ran == [220, 600])
    }

    @Test func debounceLeadingRunsTheFirstCallOfABurst() {
        let ran = tasks(callsAt: [0, 60, 120, 219, 320, 500]) {
            Debounce(interval: .milliseconds(100), edges: .leading, on: $0, action: $1)
        }
        #expect(ran == [0, 320, 500])
    }

    // MARK: Defaults

    @Test func aThrottleIsLeadingAndADebounceTrailingUnlessToldOtherwise() {
        let calls: [Int64] = [0, 50, 500]
        #expect(tasks(callsAt: calls) { Throttle(interval: .milliseconds(100), on: $0, action: $1) } == [0, 500])
        #expect(tasks(callsAt: calls) { Debounce(interval: .milliseconds(100), on: $0, action: $1) } == [150, 600])
    }

    // MARK: invalidate, and who keeps whom

    @Test func invalidateDropsTheBlockAndWhatIsPending() {
        for edges in [RateLimitEdges.leading, .trailing] {
            let scene = Scene()
            weak var captured: Count?
            let limiters: [RateLimiter<Void>]
            do {
                let count = Count()
                captured = count
                limiters = [
                    Throttle(interval: .milliseconds(100), edges: edges, on: scene.loop) { count.up() },
                    Debounce(interval: .milliseconds(100), edges: edges, on: scene.loop) { count.up() },
                ]
                for limiter in limiters { limiter() }
                #expect(count.value == (edges == .leading ? 2 : 0))
            }
            #expect(captured != nil)
            for limiter in limiters { limiter.invalidate() }
            #expect(captured == nil)
            for limiter in limiters { #expect(!limiter()) }
            scene.run()
        }
    }

    /// An object that limits one of its own methods.
    private final class Owner: @unchecked Sendable {
        private var limiter: RateLimiter<Void>!
        private let log: Log<String>

        init(_ log: Log<String>, capturesItself: Bool, on loop: Loop) {
            self.log = log
            let limited: @Sendable () -> Void =
                if capturesItself { { self.save() } } else { { [weak self] in self?.save() } }
            limiter = Debounce(interval: .milliseconds(100), on: loop, action: limited)
        }

        deinit { log.add("gone") }

        func change() { limiter() }
        func close() { limiter.invalidate() }
        private func save() { log.add("saved") }
    }

    @Test func neitherTheLoopNorTheLimiterKeepsAnOwnerThatIsCapturedWeakly() {
        let scene = Scene()
        let log = Log<String>()
        do { Owner(log, capturesItself: false, on: scene.loop).change() }
        #expect(log.entries == ["gone"])
        scene.run()
        #expect(log.entries == ["gone"])
    }

    @Test func invalidateLetsGoOfAnOwnerThatTheBlockCaptures() {
        let scene = Scene()
        let log = Log<String>()
        do {
            let owner = Owner(log, capturesItself: true, on: scene.loop)
            owner.change()
            scene.run()
            owner.change()
            owner.close()
        }
        #expect(log.entries == ["saved", "gone"])
    }
}
