import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// The behavior of HWThrottle and HWDebounce: two modes each, a task without input.
@Suite(.timeBound) struct HWThrottleTests {
    private typealias Scene = RateLimitScene

    /// When the task runs, in milliseconds, if the limiter is called at these times.
    private func tasks(
        callsAt times: [Int64], _ make: (Loop, @escaping @Sendable () -> Void) -> Limiter<Void>
    ) -> [Int64] {
        let scene = Scene()
        let limiter = make(scene.loop) { scene.write(0) }
        for time in times { scene.at(time) { limiter() } }
        scene.run()
        return scene.log.entries.map(\.time)
    }

    // MARK: The four modes

    @Test("A leading throttle runs the first call and ignores the rest of the interval")
    func leadingThrottle() {
        let ran = tasks(callsAt: [0, 30, 99, 100, 150, 260]) {
            Throttle(interval: .milliseconds(100), edges: .leading, on: $0, action: $1)
        }
        #expect(ran == [0, 100, 260])
    }

    @Test("A trailing throttle runs an interval after the first call of a window")
    func trailingThrottle() {
        let ran = tasks(callsAt: [0, 30, 99, 500, 520]) {
            Throttle(interval: .milliseconds(100), edges: .trailing, on: $0, action: $1)
        }
        #expect(ran == [100, 600])
    }

    @Test("A trailing throttle runs an interval after the last action if that is later")
    func trailingThrottleAfterAction() {
        let scene = Scene()
        let limiter = Throttle<Void>(interval: .milliseconds(100), edges: .trailing, on: scene.loop) {
            scene.write(0)
        }
        scene.at(0) { limiter() }
        // After an early action the interval counts from there, not from the calls that follow.
        scene.at(50) { limiter.flush() }
        scene.at(60) { limiter() }
        scene.run()
        #expect(scene.log.entries.map(\.time) == [50, 160])
    }

    @Test("A trailing throttle runs once in each interval while calls keep coming")
    func trailingThrottleRepeats() {
        let ran = tasks(callsAt: Array(stride(from: 0, through: 450, by: 10))) {
            Throttle(interval: .milliseconds(100), edges: .trailing, on: $0, action: $1)
        }
        #expect(ran == [100, 200, 300, 400, 500])
    }

    @Test("A trailing debounce runs an interval after the last call")
    func trailingDebounce() {
        let ran = tasks(callsAt: [0, 60, 120, 500]) {
            Debounce(interval: .milliseconds(100), edges: .trailing, on: $0, action: $1)
        }
        #expect(ran == [220, 600])
    }

    @Test("A leading debounce runs the first call of a burst")
    func leadingDebounceRunsFirst() {
        let ran = tasks(callsAt: [0, 60, 120, 219, 320, 500]) {
            Debounce(interval: .milliseconds(100), edges: .leading, on: $0, action: $1)
        }
        #expect(ran == [0, 320, 500])
    }

    // MARK: Otherwise on purpose, as docs/differences.md says

    /// There a call has to come later than that.
    @Test("A call exactly at the end of the interval acts")
    func callAtEndOfInterval() {
        let limiters: [(Loop, @escaping @Sendable () -> Void) -> Limiter<Void>] = [
            { Throttle(interval: .milliseconds(100), edges: .leading, on: $0, action: $1) },
            { Debounce(interval: .milliseconds(100), edges: .leading, on: $0, action: $1) },
        ]
        for make in limiters {
            let scene = Scene()
            let limiter = make(scene.loop) { scene.write(0) }
            // The call's timer is added after the limiter's, which therefore fires first.
            for time: Int64 in [0, 100, 200] { scene.at(time - 50) { scene.at(time) { limiter() } } }
            scene.run()
            #expect(scene.log.entries.map(\.time) == [0, 100, 200])
        }
    }

    /// There it counts from the end of the task, which a queue begins later.
    @Test("A leading throttle's interval counts from the call")
    func intervalCountsFromCall() {
        let scene = Scene()
        let throttle = Throttle<Void>(interval: .milliseconds(100), on: scene.loop) {
            scene.write(0)
            // Sixty milliseconds' work.
            scene.loop.add(Loop.Timer(after: .milliseconds(60)) { _ in }, in: "work")
            #expect(scene.loop.run(mode: "work", for: .seconds(1)) == .finished)
        }
        for time: Int64 in [0, 100] { scene.at(time) { throttle() } }
        scene.run()
        #expect(scene.log.entries.map(\.time) == [0, 100])
    }

    /// There two calls in a row hand over two tasks if the first has not run yet.
    @Test("Calls before the first action has run do not make a second one")
    func callsBeforeFirstAction() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let (ran, isBusy, go) = (Count(), Gate(), Gate())
        let throttle = Throttle<Void>(interval: .milliseconds(100), on: thread.loop) { ran.up() }
        thread.perform {
            isBusy.open()
            go.wait()
        }
        isBusy.wait()
        for _ in 0..<3 { throttle() }
        go.open()
        try thread.performAndWait {}
        #expect(ran.value == 1)
    }

    /// There it acts an interval after the last action, 200.
    @Test("A trailing throttle's call soon after another waits a whole interval")
    func trailingThrottleWaits() {
        let trailing: (Loop, @escaping @Sendable () -> Void) -> Limiter<Void> = {
            Throttle(interval: .milliseconds(100), edges: .trailing, on: $0, action: $1)
        }
        #expect(tasks(callsAt: [0, 90, 120], trailing) == [100, 220])
        // Where the call before is longer ago both act an interval after the last action.
        #expect(tasks(callsAt: [0, 120], trailing) == [100, 200])
    }

    /// There it is a tenth of a second.
    @Test("A negative interval counts as zero")
    func negativeInterval() {
        let calls: [Int64] = [0, 1, 50]
        let limiters: [(Loop, @escaping @Sendable () -> Void) -> Limiter<Void>] = [
            { Throttle(interval: .seconds(-1), edges: .leading, on: $0, action: $1) },
            { Debounce(interval: .seconds(-1), edges: .trailing, on: $0, action: $1) },
        ]
        for make in limiters { #expect(tasks(callsAt: calls, make) == calls) }
    }

    // MARK: Defaults

    @Test("By default a throttle is leading and a debounce trailing")
    func defaultEdges() {
        let calls: [Int64] = [0, 50, 500]
        #expect(tasks(callsAt: calls) { Throttle(interval: .milliseconds(100), on: $0, action: $1) } == [0, 500])
        #expect(tasks(callsAt: calls) { Debounce(interval: .milliseconds(100), on: $0, action: $1) } == [150, 600])
    }

    // MARK: invalidate, and which object retains which

    @Test("invalidate drops the action and the pending call")
    func invalidateDrops() {
        for edges in [RateLimitEdges.leading, .trailing] {
            let scene = Scene()
            weak var captured: Count?
            let limiters: [Limiter<Void>]
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
        private var limiter: Limiter<Void>!
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

    @Test("Neither loop nor limiter retains a weakly captured owner")
    func weakOwner() {
        let scene = Scene()
        let log = Log<String>()
        do { Owner(log, capturesItself: false, on: scene.loop).change() }
        #expect(log.entries == ["gone"])
        scene.run()
        #expect(log.entries == ["gone"])
    }

    @Test("invalidate releases an owner that the action captures")
    func invalidateReleasesOwner() {
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
