import TestSupport
import Testing

@testable import RunLoopKit

/// A handler of a `LoopThread` that runs the loop nested, and what it notices of a stop.
@Suite(.timeBound) struct NestedRunAfterStopTests {
    /// It looks at its answer, not at the result: it must neither spin nor be without its answer.
    @Test(arguments: [true, false])
    func aWaitThatGoesOnAfterTheStopSleepsAndGetsItsAnswer(_ isLimited: Bool) throws {
        let worker = try LoopThread(name: "waits")
        let loop = worker.loop
        let hasAnswer = Gate()
        let results = Log<Loop.RunResult>()
        let answer = try Loop.PortSource { _ in hasAnswer.open() }
        loop.add(answer, in: "answers")
        let isWaiting = Gate()
        worker.perform {
            isWaiting.open()
            while !hasAnswer.isOpenNow {
                let limit: Duration = isLimited ? .seconds(1000) : .nanoseconds(Int64.max)
                results.add(loop.run(mode: "answers", for: limit, returnAfterSourceHandled: true))
            }
        }
        isWaiting.wait()
        spin(until: loop.waker.isAsleep)
        worker.stop()
        // The second run sleeps.
        spin(until: results.entries == [.stopped] && loop.waker.isAsleep)
        answer.send()
        worker.join()
        #expect(results.entries == [.stopped, .handledSource])
    }

    @Test func eachHandlerIsStoppedOnce() throws {
        let worker = try LoopThread(name: "nests")
        let loop = worker.loop
        let log = Log<String>()
        let inner = try Loop.PortSource { _ in
            // Begun after the stop, by a handler that has not noticed.
            log.add("inner \(loop.run(mode: "b", until: .distantFuture))")
            loop.perform(in: "a") {}
            loop.stop()
        }
        loop.add(inner, in: "a")
        loop.add(try Loop.PortSource { _ in }, in: "b")
        let isWaiting = Gate()
        worker.perform {
            isWaiting.open()
            log.add("outer \(loop.run(mode: "a", until: .distantFuture))")
            inner.send()
            log.add("outer \(loop.run(mode: "a", until: .distantFuture))")
        }
        isWaiting.wait()
        spin(until: loop.waker.isAsleep)
        worker.stop()
        worker.join()
        #expect(log.entries == ["outer stopped", "inner stopped", "outer stopped"])
    }
}
