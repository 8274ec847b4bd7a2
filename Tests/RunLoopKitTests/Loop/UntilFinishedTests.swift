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

    @Test("A run until nothing is left waits for no item of the background")
    func itemsOfTheBackground() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let port = try Loop.PortSource { _ in }
        let source = Loop.Source0 {}
        let timer = Loop.Timer(every: .seconds(1)) { _ in }
        let wallTimer = Loop.Timer(every: .seconds(1), timeBase: .wallClock) { _ in }
        let background = [port, source, timer, wallTimer]
        for item in background {
            #expect(item.keepsRunsGoing)
            item.keepsRunsGoing = false
            #expect(!item.keepsRunsGoing)
            loop.add(item)
            #expect(item.description.contains(", in the background, in default"))
        }
        #expect(loop.runUntilFinished() == .finished)
        #expect(clock.now.nanoseconds == 0)
        loop.add(Loop.Timer(after: .seconds(3)) { _ in })
        #expect(loop.runUntilFinished() == .finished)
        #expect(clock.now.nanoseconds == 3_000_000_000)
        // Other runs count them.
        #expect(loop.run(for: .seconds(1)) == .timedOut)
        for item in background {
            item.keepsRunsGoing = true
            #expect(loop.runUntilFinished(in: "other") == .finished)
            loop.perform { loop.perform { item.keepsRunsGoing = false } }
            #expect(loop.runUntilFinished() == .finished)
            item.invalidate()
        }
    }

    @Test("A run until nothing is left ends when another thread moves the last item to the background")
    func movedByAnotherThread() throws {
        let thread = try LoopThread(name: "background")
        let results = Log<Loop.RunResult>()
        let port = try Loop.PortSource { _ in }
        let (isAsleep, isOver) = (Gate(), Gate())
        thread.perform {
            let loop = Loop.current
            loop.add(Loop.Observer(.beforeWaiting) { _, _ in isAsleep.open() }, in: "m")
            loop.add(port, in: "m")
            results.add(loop.runUntilFinished(in: "m"))
            isOver.open()
        }
        isAsleep.wait()
        port.keepsRunsGoing = false
        isOver.wait()
        thread.stop()
        thread.join()
        #expect(results.entries == [.finished])
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
