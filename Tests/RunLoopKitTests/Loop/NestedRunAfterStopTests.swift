import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Handlers of a `LoopThread` that run the loop nested, and the effect of a stop on them.
@Suite(.timeBound) struct NestedRunAfterStopTests {
    /// It checks its answer, not the result: it must neither spin nor miss its answer.
    @Test("A wait that continues after the stop sleeps and gets its answer", arguments: [true, false])
    func waitAfterTheStop(_ isLimited: Bool) throws {
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

    @Test("Each handler is stopped once")
    func handlersStopOnce() throws {
        let worker = try LoopThread(name: "nests")
        let loop = worker.loop
        let log = Log<String>()
        let inner = try Loop.PortSource { _ in
            // Begun after the stop, by a handler that has not noticed it.
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

    /// The kind of the two handlers of one pass.
    enum Kind: CaseIterable { case blocks, sources, timers, observers, jobs }

    /// The run that the first handler began has not stopped the second one, in the same pass.
    @Test("Each of two handlers of one pass is stopped once", arguments: Kind.allCases)
    func twoHandlersOfAPass(_ kind: Kind) throws {
        let clock = VirtualClock()
        let worker = try LoopThread(name: "nests", clock: clock)
        let loop = worker.loop
        let results = Log<Loop.RunResult>()
        loop.add(try Loop.PortSource { _ in }, in: "answers")
        // The time passes, and the run ends, only if the stop is lost.
        let hold = clock.hold()
        let isWaiting = Gate()
        let handler: @Sendable () -> Void = {
            isWaiting.open()
            results.add(loop.run(mode: "answers", for: .seconds(1000)))
        }
        worker.perform {
            for _ in 0..<2 {
                switch kind {
                case .blocks: loop.perform { handler() }
                case .sources:
                    let source = Loop.Source0 { handler() }
                    loop.add(source)
                    source.signal()
                case .timers: loop.add(Loop.Timer(after: .zero) { _ in handler() })
                case .observers: loop.add(Loop.Observer(.beforeWaiting, repeats: false) { _, _ in handler() })
                case .jobs: Task(executorPreference: loop.taskExecutor) { handler() }
                }
            }
        }
        isWaiting.wait()
        spin(until: loop.waker.isAsleep)
        worker.stop()
        hold.release()
        worker.join()
        #expect(results.entries == [.stopped, .stopped])
    }

    /// A run that returns for another reason does not report the stop: the next one does.
    @Test("A stop that comes as a run returns for another reason ends the next run")
    func stopAsARunReturns() throws {
        let worker = try LoopThread(name: "nests", clock: VirtualClock())
        let loop = worker.loop
        let results = Log<Loop.RunResult>()
        let answer = try Loop.PortSource { _ in worker.stop() }
        loop.add(answer, in: "answers")
        worker.perform {
            answer.send()
            for _ in 0..<2 {
                results.add(loop.run(mode: "answers", for: .seconds(1000), returnAfterSourceHandled: true))
            }
        }
        worker.join()
        #expect(results.entries == [.handledSource, .stopped])
    }
}
