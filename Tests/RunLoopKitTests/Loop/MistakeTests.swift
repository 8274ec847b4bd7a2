import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// Mistakes that would be silent are reported. The handling is one for the process, so each test has a process.
@Suite(.timeBound) struct MistakeTests {
    @Test("Refused items are reported once each, with the reason and the way out")
    func refusedItems() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let (loop, other) = (Loop(clock: VirtualClock()), Loop(clock: VirtualClock()))
            let items = (0..<3).map { _ in Loop.Timer(every: .seconds(1)) { _ in } }
            for (index, item) in items.enumerated() { item.label = "t\(index)" }
            items[0].invalidate()
            other.add(items[1])
            for _ in 0..<3 {
                loop.add(items[0])
                loop.add(items[1])
            }
            loop.end()
            loop.add(items[2])
        }
        expect(
            result,
            says: [
                "RunLoopKit: The loop refused the timer \"t0\", which is invalid: make a new one. (Reported only "
                    + "once.)\nRunLoopKit: The loop refused the timer \"t1\", which is in another loop, and can be in "
                    + "one only: remove it there first. (Reported only once.)\n"
                    + "RunLoopKit: The loop refused the timer \"t2\", which was added to a loop that has ended: add "
                    + "it to the loop of a thread that runs. (Reported only once.)\n"
            ])
    }

    @Test("Messages that a loop's end leaves in a port are reported, but not those that somebody sees to")
    func leftMessages() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            var ports: [Loop.MessagePort<Int>] = []
            for (index, count) in [2, 1, 0, 3, 3, 3].enumerated() {
                let loop = Loop(clock: VirtualClock())
                let port = Loop.MessagePort<Int>(label: "\(index)") { _ in }
                ports.append(port)
                loop.add(port, in: index == 1 ? .common : .default)
                for number in 0..<count { port.send(number) }
                if index == 3 { loop.onEnd { _ = port.takeWaiting() } }
                if index == 4 { port.invalidate() }
                if index == 5 { port.disarm() }
                loop.end()
            }
            let thread = try LoopThread(name: "worker")
            let port = Loop.MessagePort<Int>(label: "of a thread") { _ in }
            ports.append(port)
            try await thread.run {
                thread.loop.add(port)
                port.send(1)
                // In the pass that sees it, no message is handled any more.
                thread.stop(discardingPending: true)
            }
            thread.joinBlocking()
            let texts = mistakes.entries.map { "\($0)" }
            let areRight =
                texts.count == 2 && texts[0].contains("2 messages in it were not")
                && texts[1].contains("\"1\"") && texts[1].contains("1 message in it was not")
            _exit(areRight ? 0 : 1)
        }
    }

    @Test("A stop that precedes the first run is reported, if that has no limit")
    func stopBeforeRun() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let loops = (0..<4).map { _ in Loop(clock: VirtualClock()) }
            for loop in loops { loop.perform { loop.stop() } }
            let other = Thread { loops[0].stop() }
            other.start()
            while !other.isFinished { usleep(1000) }
            loops[0].run()
            // A stop after a run has ended is harmless.
            loops[0].stop()
            loops[0].run()
            loops[1].stop()
            loops[1].run(mode: .default, for: .zero)
            loops[1].run()
            let isQuiet = mistakes.entries.isEmpty
            loops[2].stop()
            for _ in 0..<2 { loops[2].run() }
            _exit(isQuiet && mistakes.entries == [.stopBeforeRun(thread: loops[2].threadName)] ? 0 : 1)
        }
    }

    @Test("An advance past a deadline of a loop that another thread does not run is reported")
    func advanceWithoutRun() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let clock = VirtualClock(.manual)
            let (own, idle, running) = (Loop(clock: clock), Log<Loop>(), Gate())
            // Loops of this thread, and of a `LoopThread`, are served.
            let thread = try LoopThread(clock: clock)
            for loop in [own, thread.loop] { loop.add(Loop.Timer(after: .seconds(1), repeating: .seconds(1)) { _ in }) }
            let others = [
                Thread {
                    let loop = Loop(clock: clock)
                    loop.add(Loop.Timer(after: .seconds(2)) { _ in })
                    idle.add(loop)
                },
                Thread {
                    let loop = Loop(clock: clock)
                    loop.add(Loop.Timer(after: .seconds(2)) { _ in })
                    loop.perform { running.open() }
                    loop.run()
                },
            ]
            for other in others { other.start() }
            running.wait()
            while !others[0].isFinished { usleep(1000) }
            clock.advance(by: .seconds(1))
            let isQuiet = mistakes.entries.isEmpty
            clock.advance(by: .seconds(1))
            thread.stop()
            thread.joinBlocking()
            let expected = Loop.Mistake.advanceWithoutRun(thread: idle.entries[0].threadName)
            _exit(isQuiet && mistakes.entries == [expected] && "\(expected)".contains("nothing was called") ? 0 : 1)
        }
    }

    @Test("A run that ends during an advance is no mistake, nor is one that has yet to begin", arguments: [1, 0])
    func advanceBesideRun(_ seconds: Int) async {
        await #expect(processExitsWith: .success) { [seconds] in
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let clock = VirtualClock(.manual)
            let (ready, go) = (Gate(), Gate())
            let worker = Thread {
                let loop = Loop(clock: clock)
                loop.add(Loop.Timer(after: .seconds(seconds), repeating: .seconds(1)) { _ in })
                if seconds > 0 {
                    loop.perform { ready.open() }
                } else {
                    ready.open()
                    go.wait()
                }
                loop.run(for: .seconds(1))
            }
            worker.start()
            ready.wait()
            clock.advance(by: .seconds(3 * seconds))
            go.open()
            _exit(mistakes.entries.isEmpty ? 0 : 1)
        }
    }

    @Test("Each kind of item says that it was never added, but not one that was added, refused or invalidated")
    func itemsNeverAdded() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let (loop, ended) = (Loop(clock: VirtualClock()), Loop(clock: VirtualClock()))
            ended.end()
            let pipe = Pipe()
            let kinds: [@Sendable (_ label: String) throws -> Loop.Item] = [
                { Loop.Timer(after: .seconds(1), label: $0) { _ in } },
                { Loop.Observer(.all, label: $0) { _, _ in } },
                { Loop.Source0(label: $0) {} },
                { Loop.Source0(schedule: { _, _ in }, label: $0) {} },
                { Loop.MessagePort<Int>(label: $0) { _ in } },
                { try Loop.PortSource(label: $0) { _ in } },
                { try Loop.SignalSource(SIGUSR1, label: $0) { _, _ in } },
                { try Loop.ProcessSource(getppid(), label: $0) { _, _ in } },
                { try Loop.ChildProcess("true", label: $0) { _, _ in } },
                { try Loop.FileDescriptorSource(pipe.fileHandleForReading.fileDescriptor, label: $0) { _, _ in } },
                { try Loop.FolderSource("/", label: $0) { _, _ in } },
                { try Loop.Connection(owning: dup(pipe.fileHandleForReading.fileDescriptor), label: $0) { _, _ in } },
                { try Loop.Listener(.tcp(.loopback, port: 0), label: $0) { _, _ in } },
                // Without a handler.
                { try Loop.ChildProcess("true", label: $0) },
                { try Loop.Connection(owning: dup(pipe.fileHandleForReading.fileDescriptor), label: $0) },
            ]
            // An `init` that throws may have made them.
            _ = Loop.Timer(after: .seconds(1))
            _ = try (Loop.FolderSource("/"), Loop.Listener(.tcp(.loopback, port: 0)))
            for (index, make) in kinds.enumerated() {
                _ = try make("\(index)")
                for mode in [Loop.Mode.default, .common] {
                    let added = try make("added")
                    loop.add(added, in: mode)
                    loop.remove(added, in: mode)
                    ended.add(try make("refused"), in: mode)
                }
                try make("invalidated").invalidate()
            }
            let names = mistakes.entries.compactMap { mistake -> String? in
                if case .neverAdded(let item) = mistake { item } else { nil }
            }
            let areNamed = names.enumerated().allSatisfy { $1.contains("\"\($0)\"") }
            _exit(names.count == kinds.count && areNamed ? 0 : 1)
        }
    }

    @Test("An item or a block of the main actor is refused by any loop but the main loop")
    func itemsOfTheMainActor() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let worker = try LoopThread()
            let loop = worker.loop
            let timer = Loop.Timer(every: .seconds(1), isolation: .shared, label: "tick") { _ in }
            precondition(!loop.add(timer, in: .default) && !loop.add(timer, in: .common) && timer.isValid)
            precondition(!loop.perform(isolation: .shared) {})
            let reasons = mistakes.entries.map { mistake -> Loop.Mistake.Refusal? in
                if case .refusedItem(_, let reason) = mistake { reason } else { nil }
            }
            _exit(reasons == [.itemIsForMainActor, .itemIsForMainActor, .itemIsForMainActor] ? 0 : 1)
        }
    }

    @Test("A thread that is dropped with timers is reported, and one that was stopped is not")
    func droppedThread() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            for isStopped in [true, false] {
                let thread = try LoopThread(name: "dropped")
                let timer = thread.perform(after: .seconds(1000)) {}
                timer?.label = "delayed"
                if isStopped { thread.stop() }
            }
            // Not exit: the threads may still end.
            _exit(mistakes.entries == [.droppedThread(name: "dropped", items: ["timer \"delayed\""])] ? 0 : 1)
        }
    }

    @Test("A thread that is dropped with a source is reported, but not one with ports only")
    func droppedThreadWithSources() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let port = Loop.MessagePort<Int> { _ in }
            let drop: @Sendable (String, Loop.Item) throws -> Void = { name, item in
                let thread = try LoopThread(name: name)
                precondition(thread.loop.add(item, in: .common))
                withExtendedLifetime(thread) {}
            }
            try drop("ports", port)
            let signal = try Loop.SignalSource(SIGUSR1, label: "s") { _, _ in }
            let process = try Loop.ProcessSource(getppid(), label: "p") { _, _ in }
            let pipe = Pipe()
            let descriptor = try Loop.FileDescriptorSource(pipe.fileHandleForReading.fileDescriptor, label: "d") {
                _, _ in withExtendedLifetime(pipe) {}
            }
            let child = try Loop.ChildProcess("sleep", ["1000"], label: "c") { _, _ in }
            let listener = try Loop.Listener(.tcp(.loopback, port: 0), label: "l") { _, _ in }
            let folder = try Loop.FolderSource("/proc/self/fdinfo", label: "f") { _, _ in }
            for item in [signal, process, descriptor, child, listener, folder] { try drop("sources", item) }
            child.signal(SIGKILL)
            let names = mistakes.entries.flatMap { mistake -> [String] in
                if case .droppedThread("sources", let items) = mistake { items } else { ["?"] }
            }
            let labels = ["s", "p", "d", "c", "l", "f"]
            let isReported = names.count == 6 && zip(names, labels).allSatisfy { $0.contains("\"\($1)\"") }
            _exit(isReported ? 0 : 1)
        }
    }

    @Test("An actor on a loop that is dropped with its timers is no mistake")
    func droppedActor() async {
        await #expect(processExitsWith: .success) {
            Loop.mistakeHandling = .trap
            weak var remains: LoopThread?
            do {
                let ticker = try Ticker()
                remains = ticker.thread
                await ticker.start()
            }
            await eventually(remains == nil)
            _exit(0)
        }
    }

    private actor Ticker {
        nonisolated let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }

        init() throws { thread = try LoopThread(name: "ticker") }

        func start() { thread.loop.add(Loop.Timer(every: .milliseconds(1), isolation: self) { _, _ in }) }
    }

    @Test("A detector on a loop that has ended is no mistake")
    func detectorOfAnEndedLoop() async {
        await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            Loop.mistakeHandling = .trap
            let (loop, _) = Loop.inVirtualTime()
            loop.end()
            withExtendedLifetime(FeedbackLoopDetector(on: loop)) {}
            _exit(0)
        }
    }

    @Test("Runs in the common modes and jobs of ended loops reach the handler")
    func runsAndJobs() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            precondition(Loop.current.run(mode: .common, for: .zero) == .finished)
            let thread = try LoopThread(name: "ended")
            thread.stop()
            thread.joinBlocking()
            await Task(executorPreference: thread.loop.taskExecutor) {}.value
            _exit(mistakes.entries == [.runInCommonModes, .jobsOfEndedLoop(thread: "ended")] ? 0 : 1)
        }
    }

    @Test("A run that was to wait and has nothing to wait for is reported")
    func emptyRuns() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let body: @Sendable () -> Void = {
                let loop = Loop.current
                loop.add(Loop.Timer(every: .seconds(1000)) { _ in }, in: .tracking)
                loop.run()
                loop.run(mode: "mistyped", for: .seconds(1000))
                loop.run(mode: "mistyped", until: .distantFuture)
            }
            try onThreadOfItsOwn(body)
            precondition(
                mistakes.entries == [
                    .emptyRun(mode: .default, others: [.tracking]), .emptyRun(mode: "mistyped", others: [.tracking]),
                    .emptyRun(mode: "mistyped", others: [.tracking]),
                ])
            // In virtual time only in a mode that never had anything in it: here a timer is in the common modes.
            let loop = Loop(clock: VirtualClock())
            loop.run()
            loop.add(Loop.Timer(every: .seconds(1000)) { _ in }, in: .common)
            loop.run(mode: .tracking, for: .seconds(1))
            _exit(mistakes.entries.dropFirst(3) == [.emptyRun(mode: .tracking, others: [.default])] ? 0 : 1)
        }
    }

    @Test("An empty run is no mistake if it only polls, something was in its mode before, or the loop has ended")
    func ordinaryEmptyRuns() async {
        await #expect(processExitsWith: .success) {
            Loop.mistakeHandling = .trap
            try onThreadOfItsOwn {
                let loop = Loop.current
                loop.run(mode: .default, for: .zero)
                loop.run(mode: "polled", for: .zero)
                loop.perform {}
                loop.run(mode: .default, for: .nanoseconds(1))
                loop.run()
                let timer = Loop.Timer(every: .seconds(1)) { _ in }
                loop.add(timer, in: .tracking)
                timer.invalidate()
                loop.run(mode: .tracking, for: .seconds(1000))
                let ended = Loop(clock: VirtualClock())
                ended.end()
                ended.run()
                ended.run(mode: "other", for: .seconds(1))
            }
            _exit(0)
        }
    }

    @Test("A message that a full port refuses is reported once for each port, unless the sender asks for the answer")
    func refusedMessages() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let ports = (0..<2).map { Loop.MessagePort<Int>(capacity: 1, label: "port \($0)") { _ in } }
            for port in ports {
                precondition(port.send(1) && port.trySend(2) == .full && mistakes.entries.isEmpty)
            }
            for _ in 0..<3 { for port in ports { port.send(2) } }
            ports[0].invalidate()
            ports[0].send(3)
            let names = ports.map(\.name)
            _exit(mistakes.entries == names.map { .refusedMessage(port: $0, capacity: 1) } ? 0 : 1)
        }
    }

    @Test("Mistakes can be silenced, and can trap")
    func handling() async {
        let silent = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            Loop.mistakeHandling = .ignore
            let timer = Loop.Timer(every: .seconds(1)) { _ in }
            timer.invalidate()
            let isAdded = Loop.current.add(timer)
            #expect(!isAdded)
        }
        #expect(silent?.standardErrorContent.isEmpty == true)
        let trap = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Loop.mistakeHandling = .trap
            let timer = Loop.Timer(every: .seconds(1)) { _ in }
            timer.invalidate()
            _ = Loop.current.add(timer)
        }
        expect(trap, says: ["The loop refused the timer", "which is invalid: make a new one."])
    }
}
