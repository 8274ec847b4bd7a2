import LoopTestSupport
import RunLoopKit
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
}
