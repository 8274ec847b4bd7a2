import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

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

    private enum LastItem: CaseIterable { case port, timer, sleeper, limiter, portOfTheBackground }

    @Test("A run until nothing is left ends when another thread stops the last item", arguments: LastItem.allCases)
    private func stoppedByAnotherThread(_ item: LastItem) throws {
        let thread = try LoopThread(name: "background")
        let (loop, mode) = (thread.loop, Loop.Mode("m"))
        let (background, port) = (try Loop.PortSource { _ in }, try Loop.PortSource { _ in })
        background.keepsRunsGoing = false
        loop.add(background, in: mode)
        let timer = Loop.Timer(restartableAfter: .seconds(1000)) { _ in }
        let limiter = Debounce<Int>(interval: .seconds(1000), on: loop, in: [mode]) { _ in }
        var task: Task<Void, any Error>?
        switch item {
        case .port, .portOfTheBackground: loop.add(port, in: mode)
        case .timer: loop.add(timer, in: mode)
        case .limiter: limiter(1)
        case .sleeper:
            task = Task.detached { try await Task.sleep(for: .seconds(1000), clock: LoopClock(loop, in: mode)) }
            spin(until: loop.description.contains("sleep of a task"))
        }
        let (results, isOver) = (Log<Loop.RunResult>(), Gate())
        thread.perform {
            results.add(Loop.current.runUntilFinished(in: mode))
            isOver.open()
        }
        spin(until: loop.isWaiting && loop.currentMode == mode)
        switch item {
        case .port:
            port.invalidate()
            loop.wakeUp()
        case .portOfTheBackground: port.keepsRunsGoing = false
        case .timer: timer.nextFireTime = nil
        case .limiter: limiter.cancel()
        case .sleeper: task?.cancel()
        }
        isOver.wait()
        thread.stop()
        thread.join()
        #expect(results.entries == [.finished])
    }

    @Test("A change that leaves an item in the foreground wakes no loop")
    func needlessChange() throws {
        let thread = try LoopThread(name: "background")
        let port = try Loop.PortSource { _ in }
        thread.loop.add(port, in: .common)
        spin(until: thread.loop.waker.isAsleep)
        let writes = thread.loop.counters.wakeWrites
        port.keepsRunsGoing = true
        // The thread's own port is in the foreground.
        port.keepsRunsGoing = false
        port.keepsRunsGoing = true
        #expect(thread.loop.waker.isAsleep && thread.loop.counters.wakeWrites == writes)
        thread.stop()
        thread.join()
    }

    @Test("A run until nothing is left ends in the handler of an item of the background")
    func inHandlerOfTheBackground() {
        let (loop, _) = Loop.inVirtualTime()
        let results = Log<Loop.RunResult>()
        let timer = Loop.Timer(every: .seconds(1)) { firing in
            results.add(Loop.current.runUntilFinished())
            firing.timer.invalidate()
        }
        timer.keepsRunsGoing = false
        loop.add(timer)
        #expect(loop.run(for: .seconds(3)) == .finished && results.entries == [.finished])
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
