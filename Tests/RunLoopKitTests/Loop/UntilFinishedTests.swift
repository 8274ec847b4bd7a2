import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Runs that end when nothing is left. For those of the main loop see `RunMainTests`.
@Suite(.timeBound) struct UntilFinishedTests {
    @Test("A run until nothing is left does not sleep when a block has removed the last item")
    func untilFinished() throws {
        let (loop, clock) = Loop.inVirtualTime()
        #expect(loop.runUntilFinished() == .finished)
        let timer = Loop.Timer(every: .seconds(1)) { firing in
            if firing.scheduledTime >= Loop.Instant(nanoseconds: 3_000_000_000) {
                Loop.current.perform { firing.timer.invalidate() }
            }
        }
        loop.add(timer)
        loop.perform { loop.perform {} }
        #expect(loop.runUntilFinished() == .finished)
        #expect(clock.now.nanoseconds == 3_000_000_000)
        loop.perform(in: "other") {}
        #expect(loop.runUntilFinished(in: "other") == .finished)
        loop.add(Loop.Timer(every: .seconds(1)) { _ in loop.stop() })
        #expect(loop.runUntilFinished() == .stopped)
        #expect(clock.now.nanoseconds == 4_000_000_000)
    }

    @Test("A run until nothing is left teaches its caller nothing of a closing")
    func untilFinishedWhileClosing() throws {
        let thread = try LoopThread(name: "closing")
        let results = Log<Loop.RunResult>()
        thread.perform {
            let loop = Loop.current
            loop.add(Loop.Observer(.exit) { _, _ in thread.stop() }, in: "m")
            loop.add(try! Loop.PortSource { _ in }, in: "n")
            loop.perform(in: "m") {}
            results.add(loop.runUntilFinished(in: "m"))
            results.add(loop.run(mode: "n", until: .distantFuture))
        }
        thread.join()
        #expect(results.entries == [.finished, .stopped])
    }
}
