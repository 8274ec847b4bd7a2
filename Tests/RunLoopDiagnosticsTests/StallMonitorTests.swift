import CLinux
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// Which stalls are reported, and how, in time that the tests move.
@Suite(.timeBound) struct StallMonitorTests {
    // MARK: One stall

    @Test("A stall is reported once for each threshold, and when it ends")
    func reportedOnceForEachThreshold() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        scene.pass(50)
        loop.perform { scene.pass(1234) }
        loop.run(mode: .default, for: .zero)
        scene.pass(100)
        #expect(scene.story == ["exceeded 100: 100", "exceeded 250: 250", "exceeded 1000: 1000", "ended: 1234"])
        let reports = scene.reports.entries
        #expect(Set(reports.map(\.number)) == [1])
        #expect(reports.allSatisfy { $0.start == milliseconds(50) })
        #expect(reports.map(\.end) == [nil, nil, nil, milliseconds(1284)])
        loop.perform { scene.pass(110) }
        loop.run(mode: .default, for: .zero)
        scene.pass(100)
        #expect(scene.reports.entries.map(\.number) == [1, 1, 1, 1, 2, 2])
        #expect(scene.watcher.metrics(of: loop)?.stalls == 2)
    }

    @Test("A monitor has metrics of the loops that it watches, until it no longer does")
    func unwatching() throws {
        let monitor = try StallMonitor { _ in }
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        monitor.watch(loop, name: "watched")
        loop.perform {}
        loop.run(mode: .default, for: .zero)
        #expect(monitor.metrics(of: loop) != nil)
        monitor.unwatch(loop)
        #expect(monitor.metrics(of: loop) == nil)
    }

    @Test("The thresholds are 100 ms, 250 ms and 1 s unless others are given")
    func thresholds() {
        #expect(StallMonitor.defaultThresholds == [.milliseconds(100), .milliseconds(250), .seconds(1)])
    }

    @Test("A handler that takes less than the threshold is not reported")
    func belowThreshold() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        loop.perform { scene.pass(99) }
        loop.run(mode: .default, for: .zero)
        scene.pass(1000)
        #expect(scene.story == [])
    }

    @Test("A stall that ended before the watcher looked is reported once, with its true start and end")
    func endedBeforeTheLook() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        // Looks at 100, so at 90 the handler has only begun.
        scene.pass(10)
        loop.perform { scene.passUnwatched(105) }
        loop.run(mode: .default, for: .zero)
        scene.check()
        scene.pass(100)
        #expect(scene.story == [])
        loop.perform { scene.passUnwatched(300) }
        let start = scene.now
        loop.run(mode: .default, for: .zero)
        // Late by 200 ms, which do not count.
        scene.check()
        #expect(scene.story == ["ended: 100"])
        #expect(scene.reports.entries.map(\.start.nanoseconds) == [start])
        #expect(scene.reports.entries.map { $0.end?.nanoseconds } == [scene.now])
    }

    @Test("A report says which handler stalls")
    func whichHandler() throws {
        let scene = StallScene(thresholds: [100])
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop, name: "editor")
        loop.add(Loop.Observer(.entry, repeats: false) { _, _ in scene.pass(100) }, in: .tracking)
        loop.add(Loop.Timer(after: .zero) { _ in scene.pass(100) }, in: .tracking)
        let source0 = Loop.Source0 { scene.pass(100) }
        loop.add(source0, in: .tracking)
        source0.signal()
        let port = try Loop.PortSource { _ in
            scene.pass(100)
            loop.stop()
        }
        loop.add(port, in: .tracking)
        port.send()
        loop.perform(in: .tracking, label: "saving") { scene.pass(100) }
        loop.run(mode: .tracking, for: .seconds(1))
        let reports = scene.reports.entries.filter { $0.stage != .ended }
        #expect(Set(reports.map(\.kind)) == [.observer, .timer, .source0, .source1, .block])
        #expect(reports.allSatisfy { $0.mode == .tracking && $0.loop == "editor" && $0.nesting == 0 })
        #expect(reports.map { $0.activity == .entry } == reports.map { $0.kind == .observer })
        #expect(reports.first { $0.kind == .timer }?.label.hasPrefix("timer (") == true)
        #expect(reports.first { $0.kind == .block }?.label == "block \"saving\"")
    }

    @Test("A report reads well")
    func description() {
        let scene = StallScene(thresholds: [100])
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop, name: "editor")
        loop.perform(label: "saving") {
            for _ in 1...2 { loop.perform {} }
            scene.pass(120)
        }
        loop.run(mode: .default, for: .zero)
        scene.pass(100)
        let texts = scene.reports.entries.map(\.description)
        #expect(
            texts == [
                "the loop 'editor' is stalled: block \"saving\" in mode 'default' has kept it from coming around "
                    + "for 100 ms (stall 1, threshold 100 ms); 2 blocks wait behind it",
                "the loop 'editor' continues: block \"saving\" in mode 'default' had kept it from coming around "
                    + "for 120 ms (stall 1)",
            ])
        loop.perform(label: "saving") {
            scene.pass(100)
            scene.passUnwatched(200)
        }
        loop.run(mode: .default, for: .zero)
        scene.check()
        #expect(
            scene.reports.entries.last?.description
                == "the loop 'editor' continues: block \"saving\" in mode 'default' had kept it from coming around for "
                + "300 ms, the watcher's thread could not run for 100 ms of them (stall 2)")
        #expect(WaitingWork().description == "nothing")
        #expect(WaitingWork(blocks: 1).description == "1 block")
        #expect(WaitingWork(blocks: 1, jobs: 2, sources: 3).description == "1 block, 2 jobs and 3 sources")
    }

    @Test("The description of a watched loop names the handler that runs, and for how long")
    func descriptionOfTheLoop() {
        let scene = StallScene(thresholds: [1000])
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop, name: "editor")
        let pages = Log<String>()
        loop.perform(label: "saving") {
            scene.pass(120)
            pages.add("\(loop)")
        }
        loop.run(mode: .default, for: .zero)
        #expect(
            pages.entries.first?.contains(": running in default, calling block \"saving\" for 0.12 seconds\n") == true)
        #expect(!"\(loop)".contains("calling"))
    }

    // MARK: No stall

    @Test("A loop that sleeps does not stall")
    func sleeping() throws {
        let scene = StallScene()
        let thread = try LoopThread(name: "sleeper")
        scene.watch(thread.loop)
        try thread.performAndWait {}
        spin(until: thread.loop.isWaiting)
        scene.pass(1_000_000)
        #expect(scene.story == [])
    }

    /// As in suspend, no thread of the process runs, the watcher's neither.
    @Test("A loop that slept, or was in a handler, while the machine was suspended is not reported")
    func suspended() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        loop.run(mode: .default, for: .zero)
        scene.passUnwatched(3_600_000)
        scene.check()
        scene.pass(60)
        loop.perform {
            scene.passUnwatched(3_600_000)
            scene.check()
            scene.pass(20)
        }
        loop.run(mode: .default, for: .zero)
        scene.pass(1000)
        #expect(scene.story == [])
    }

    @Test("A loop that does not run does not stall")
    func notRunning() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        loop.perform {}
        scene.pass(10_000)
        loop.run(mode: .default, for: .zero)
        scene.pass(10_000)
        #expect(scene.story == [])
    }

    @Test("A busy loop with many short handlers does not stall")
    func busy() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        for _ in 1...50 { loop.perform { scene.pass(60) } }
        let count = Count()
        loop.add(
            Loop.Timer(every: .milliseconds(1)) { firing in
                scene.pass(99)
                if count.up() == 50 { firing.timer.invalidate() }
            }, in: .default)
        loop.run()
        scene.pass(10_000)
        #expect(scene.story == [] && count.value == 50)
    }

    @Test("A late watcher does not blame a handler that was called after it should have looked")
    func lateWatcher() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        scene.pass(50)
        scene.passUnwatched(10_000)
        loop.perform {
            scene.passUnwatched(5000)
            scene.check()
            #expect(scene.story == [])
            // From the look on, the time counts.
            scene.pass(99)
            #expect(scene.story == [])
            scene.pass(1)
            #expect(scene.story == ["exceeded 100: 100"])
        }
        loop.run(mode: .default, for: .zero)
    }

    @Test("Time in which the watcher did not run does not count, even for a stall that was reported")
    func discount() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        loop.perform {
            scene.pass(200)
            // The watcher is to look at 250.
            scene.passUnwatched(10_050)
            scene.check()
            #expect(scene.story == ["exceeded 100: 100", "exceeded 250: 250"])
            scene.pass(50)
        }
        loop.run(mode: .default, for: .zero)
        scene.pass(100)
        #expect(scene.story.last == "ended: 300")
        #expect(scene.reports.entries.last?.end == milliseconds(10_300))
    }

    @Test("Nothing is reported under a debugger, and the time does not count afterwards")
    func debugger() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        loop.perform {
            scene.isTraced = true
            scene.pass(5000)
            scene.isTraced = false
            scene.pass(90)
        }
        loop.run(mode: .default, for: .zero)
        scene.pass(100)
        #expect(scene.story == [])
        loop.perform {
            scene.isTraced = true
            scene.passUnwatched(5000)
        }
        loop.run(mode: .default, for: .zero)
        scene.check()
        #expect(scene.story == [])
    }

    @Test("A tracing process is recognized")
    func tracerPid() {
        #expect(!ThreadStatus.isTraced("Name:\tx\nTracerPid:\t0\nUid:\t0"))
        #expect(ThreadStatus.isTraced("Name:\tx\nTracerPid:\t4710\nUid:\t0"))
        #expect(!ThreadStatus.isTraced(""))
    }

    // MARK: Nested runs

    @Test("A handler that runs its loop nested does not stall it while that run comes around")
    func nestedRun() {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        loop.perform {
            scene.pass(60)
            for _ in 1...20 {
                loop.perform(in: .tracking) { scene.pass(60) }
                loop.run(mode: .tracking, for: .seconds(1))
            }
            #expect(scene.story == [])
            scene.pass(99)
            #expect(scene.story == [])
            scene.pass(2)
        }
        loop.run(mode: .default, for: .zero)
        scene.pass(100)
        #expect(scene.story == ["exceeded 100: 100", "ended: 101"])
        #expect(scene.reports.entries.allSatisfy { $0.mode == .default && $0.nesting == 0 })
        #expect(scene.reports.entries.first?.start == milliseconds(60 + 20 * 60))
    }

    @Test("A nested run that sleeps does not stall the loop")
    func nestedSleep() throws {
        let scene = StallScene()
        let thread = try LoopThread(name: "nested")
        scene.watch(thread.loop)
        let loop = thread.loop
        try thread.performAndWait { _ = loop.add(try Loop.PortSource { _ in }, in: .tracking) }
        let isInside = Gate()
        loop.perform {
            isInside.open()
            loop.run(mode: .tracking, for: .seconds(1000))
        }
        isInside.wait()
        spin(until: loop.isWaiting)
        scene.pass(100_000)
        #expect(scene.story == [])
        loop.stop()
        try thread.performAndWait {}
    }

    @Test("A stall in a nested run names the nesting and the mode")
    func nestedStall() {
        let scene = StallScene(thresholds: [100])
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        loop.perform {
            loop.perform(in: .tracking) { scene.pass(110) }
            loop.run(mode: .tracking, for: .seconds(1))
        }
        loop.run(mode: .default, for: .zero)
        scene.pass(100)
        #expect(scene.story == ["exceeded 100: 100", "ended: 110"])
        #expect(scene.reports.entries.allSatisfy { $0.mode == .tracking && $0.nesting == 1 })
        #expect(scene.reports.entries.first?.description.contains("in mode 'tracking', 1 run deep") == true)
    }

    // MARK: What waits

    @Test("A report counts what waits behind the handler")
    func waitingWork() throws {
        let scene = StallScene(thresholds: [100])
        let (loop, clock) = Loop.inVirtualTime(.manual)
        scene.watch(loop)
        let port = try Loop.PortSource { _ in }
        let messages = Loop.MessagePort<Int> { _ in }
        let pipe = Ends.pipe()
        let input = try Loop.FileDescriptorSource(pipe.reader) { source, _ in source.invalidate() }
        let source0s = (1...3).map { _ in Loop.Source0 {} }
        for item in [port, messages, input] + source0s { loop.add(item, in: .default) }
        loop.add(Loop.Timer(after: .milliseconds(1)) { _ in }, in: .default)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in }, in: .default)
        loop.perform {
            // These two have been taken out of the queue with this block.
            port.send()
            messages.send(1)
            pipe.send("x")
            for source in source0s.dropFirst() { source.signal() }
            for _ in 1...4 { loop.perform {} }
            clock.advance(by: .milliseconds(2))
            scene.pass(110)
            loop.stop()
        }
        for _ in 1...2 { loop.perform {} }
        loop.run()
        let waiting = try #require(scene.reports.entries.first).waiting
        #expect(waiting == WaitingWork(blocks: 6, jobs: 0, sources: 5, timers: 1))
    }

    @Test("A report counts the jobs that wait")
    func waitingJobs() throws {
        let scene = StallScene(thresholds: [100])
        let thread = try LoopThread(name: "jobs")
        scene.watch(thread.loop)
        let loop = thread.loop
        try thread.performAndWait {
            for _ in 1...3 { Task(executorPreference: loop.taskExecutor) {} }
            scene.pass(110)
        }
        #expect(scene.reports.entries.first?.waiting.jobs == 3)
    }

    @Test("A job that stalls is reported as one")
    func stalledJob() async throws {
        let scene = StallScene(thresholds: [100])
        let thread = try LoopThread(name: "jobs")
        scene.watch(thread.loop)
        await Task(executorPreference: thread.loop.taskExecutor) { scene.pass(110) }.value
        #expect(scene.reports.entries.first?.kind == .job && scene.reports.entries.first?.nesting == 0)
    }
}
