import RunLoopKit
import RunLoopRules
import TestSupport
import Testing

/// What `print` shows of objects other than items, which `ExplanationTests` prints.
@Suite(.timeBound) struct DescriptionTests {
    @Test("A pool prints its threads and their unfinished work")
    func pool() throws {
        let pool = try LoopThreadPool(count: 2, options: .init(name: "files"))
        let gate = Gate()
        for _ in 0..<3 { pool.perform { gate.wait() } }
        #expect("\(pool)" == "LoopThreadPool \"files\": 2 threads, unfinished work: 2, 1")
        gate.open()
        pool.drainAndWait()
        #expect("\(pool)" == "LoopThreadPool \"files\": 2 threads, unfinished work: 0, 0")
    }

    @Test("An async limiter prints its interval, and why a pending call does not act")
    func asyncLimiter() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let limiter = AsyncLimiter<Int, Int>.debounce(interval: .seconds(2), on: loop) { $0 }
        #expect("\(limiter)" == "AsyncLimiter<Int, Int>: interval 2.0 seconds, no call is pending")
        limiter(1)
        #expect(
            "\(limiter)"
                == "AsyncLimiter<Int, Int>: interval 2.0 seconds, a call is pending. The loop does not run: its thread "
                + "has to call run(). A LoopThread does so by itself.")
    }

    @Test("A rule prints what it limits, and how")
    func rule() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let method = ThrottledMethod<Sheet, Int>("save", engine: ThrottleEngine()) { _, _ in }
        let sheet = Sheet()
        let rules = [
            method.rule(for: sheet, interval: .seconds(1), mode: .last, on: loop),
            method.rule(for: Sheet.self, interval: .milliseconds(300), on: loop),
        ]
        #expect(
            rules.map { "\($0)" } == [
                "\"save\" of one Sheet: last, 1.0 seconds", "\"save\" of class Sheet: debounce, 0.3 seconds",
            ])
    }
}
