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
                { Loop.Timer(after: .seconds(1), label: $0) },  // Without a handler.
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
            ]
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
            for item in [signal, process, descriptor, child] { try drop("sources", item) }
            child.signal(SIGKILL)
            let names = mistakes.entries.flatMap { mistake -> [String] in
                if case .droppedThread("sources", let items) = mistake { items } else { ["?"] }
            }
            let labels = ["s", "p", "d", "c"]
            let isReported = names.count == 4 && zip(names, labels).allSatisfy { $0.contains("\"\($1)\"") }
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

    @Test("A limiter that is dropped with its first call is reported")
    func droppedLimiters() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            do {
                Debounce<Int>(interval: .seconds(1000), on: thread.loop, label: "single") { _ in }(1)
                Throttle<Int>(interval: .seconds(1000), edges: .trailing, on: thread.loop, label: "last") { _ in }(1)
                let keyed = KeyedDebounce<Int, Void>(
                    interval: .seconds(1000), on: thread.loop, label: "keyed"
                ) { _, _ in }
                keyed(for: 1)
                AsyncLimiter.debounce(interval: .seconds(1000), on: thread.loop, label: "async") { (_: Int) in }(1)
            }
            let names = ["debounce \"single\"", "throttle \"last\"", "debounce \"keyed\"", "debounce \"async\""]
            let areReported = names.allSatisfy { mistakes.entries.contains(.droppedLimiter(limiter: $0)) }
            _exit(areReported && mistakes.entries.count == names.count ? 0 : 1)
        }
    }

    @Test("An object whose init throws loses no call of its limiter unnoticed")
    func limitersOfThrowingInits() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let acted = Log<Int>()
            let thread = try LoopThread()
            let loop = thread.loop
            func make(_ interval: Duration, _ release: RateLimitRelease, _ label: String) -> Debounce<Int> {
                Debounce(interval: interval, on: loop, whenReleased: release, label: label) { acted.add($0) }
            }
            func makeWithoutHandler(_ release: RateLimitRelease, _ label: String) -> Debounce<Int> {
                Debounce(interval: .seconds(1000), on: loop, whenReleased: release, label: label)
            }
            func fails(_ limiter: Debounce<Int>, _ input: Int) { _ = try? ThrowingOwner(limiter, input) }
            fails(make(.seconds(1000), .flush, "flushes"), 1)
            precondition(mistakes.entries.isEmpty)
            fails(make(.seconds(1000), .discard, "a"), 2)
            fails(makeWithoutHandler(.discard, "b"), 3)
            fails(makeWithoutHandler(.flush, "c"), 4)
            let queue = PacedQueue<Int>(1, per: .seconds(1), capacity: 1, on: loop, whenReleased: .flush, label: "d")
            precondition(queue(5) == .accepted)
            _ = consume queue
            let names = mistakes.entries.map { if case .droppedLimiter(let name) = $0 { name } else { "another" } }
            let expected = ["debounce \"a\"", "debounce \"b\"", "debounce \"c\"", "paced queue \"d\""]
            precondition(names == expected, "\(names)")
            // What is cancelled or invalidated is not lost.
            let (cancelled, invalid) = (makeWithoutHandler(.flush, "e"), makeWithoutHandler(.flush, "f"))
            cancelled(6)
            invalid(7)
            cancelled.cancel()
            invalid.invalidate()
            _ = (consume cancelled, consume invalid)
            precondition(mistakes.entries.count == 4)
            thread.stop()
            thread.joinBlocking()
            _exit(acted.entries == [1] ? 0 : 1)
        }
    }

    @Test("A call that was due and waits for a handler is reported when its limiter is dropped")
    func limitersThatWaitedForHandlers() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            for release in [RateLimitRelease.discard, .flush] {
                let throttle = Throttle<Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, whenReleased: release, label: "a")
                throttle(1)
                precondition(throttle.isPending)
                let debounce = Debounce<Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "b")
                debounce(2)
                debounce.flush()
                let keyed = KeyedThrottle<Int, Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, whenReleased: release, label: "c")
                keyed(3, for: 1)
                let flushed = KeyedDebounce<Int, Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "d")
                flushed(4, for: 1)
                flushed(4, for: 2)
                flushed.flushAll()
                // What is cancelled is not lost.
                let cancelled = KeyedThrottle<Int, Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, whenReleased: release, label: "e")
                cancelled(5, for: 1)
                cancelled.cancelAll()
                _ = (consume throttle, consume debounce, consume keyed, consume flushed, consume cancelled)
            }
            let names = ["throttle \"a\"", "debounce \"b\"", "throttle \"c\"", "debounce \"d\""]
            let reported = mistakes.entries.map { if case .droppedLimiter(let name) = $0 { name } else { "another" } }
            _exit(reported == names + names ? 0 : 1)
        }
    }

    /// Its `deinit` does not run, since `name` is not set.
    private final class ThrowingOwner {
        let limiter: Debounce<Int>
        let name: String

        init(_ limiter: Debounce<Int>, _ input: Int) throws {
            self.limiter = limiter
            limiter(input)
            name = try ThrowingOwner.fail()
        }

        deinit { limiter.flush() }

        private static func fail() throws -> String { throw CancellationError() }
    }

    @Test("A call after the end of the loop is reported for a limiter that is to lose none")
    func refusedCalls() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            let make = { (release: RateLimitRelease, label: String) in
                Debounce<Int>(interval: .seconds(1000), on: thread.loop, whenReleased: release, label: label) { _ in }
            }
            let (flushes, discards, invalid) = (make(.flush, "a"), make(.discard, "b"), make(.flush, "c"))
            let keyed = KeyedDebounce<Int, Int>(
                interval: .seconds(1000), on: thread.loop, whenReleased: .flush, label: "d"
            ) { _, _ in }
            invalid.invalidate()
            // Too late: the limiters have flushed, since they were made before.
            let areRefused = Log<Bool>()
            thread.loop.onEnd { for call in [{ flushes(1) }, { keyed(1, for: 1) }] { areRefused.add(!call()) } }
            thread.stop()
            thread.joinBlocking()
            for limiter in [flushes, discards, invalid] { precondition(!limiter(2)) }
            let late = make(.flush, "e")
            precondition(!late(3))
            let names = mistakes.entries.compactMap { if case .refusedCall(let name) = $0 { name } else { nil } }
            precondition(names.count == mistakes.entries.count && areRefused.entries.count == 2)
            _exit(Set(names) == ["debounce \"a\"", "debounce \"d\"", "debounce \"e\""] ? 0 : 1)
        }
    }

    /// The order of stored properties decides which of the two a class deallocates first.
    @Test("A limiter and its thread that are dropped together report the same in either order")
    func droppedTogether() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            do { try ThreadFirst(.discard) {}(1) }
            let reported = mistakes.entries
            precondition(reported == [.droppedLimiter(limiter: "debounce \"save\"")])
            do { try LimiterFirst(.discard) {}(1) }
            precondition(mistakes.entries == reported + reported)
            let hasActed = [Gate(), Gate()]
            do { try ThreadFirst(.flush) { hasActed[0].open() }(1) }
            do { try LimiterFirst(.flush) { hasActed[1].open() }(1) }
            for gate in hasActed { gate.wait() }
            _exit(mistakes.entries.count == 2 ? 0 : 1)
        }
    }

    private final class ThreadFirst {
        private let thread: LoopThread
        private let save: Debounce<Int>

        init(_ release: RateLimitRelease, _ action: @escaping @Sendable () -> Void) throws {
            thread = try LoopThread()
            save = MistakeTests.makeDebounce(on: thread, release, action)
        }

        func callAsFunction(_ input: Int) { save(input) }
    }

    private final class LimiterFirst {
        private let save: Debounce<Int>
        private let thread: LoopThread

        init(_ release: RateLimitRelease, _ action: @escaping @Sendable () -> Void) throws {
            thread = try LoopThread()
            save = MistakeTests.makeDebounce(on: thread, release, action)
        }

        func callAsFunction(_ input: Int) { save(input) }
    }

    private static func makeDebounce(
        on thread: LoopThread, _ release: RateLimitRelease, _ action: @escaping @Sendable () -> Void
    ) -> Debounce<Int> {
        Debounce(interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "save") { _ in action() }
    }

    @Test("A thread that is dropped reports its timers apart from the calls of limiters, which others may hold")
    func droppedThreadWithLimiters() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let limiters = try { () -> [Debounce<Int>] in
                let thread = try LoopThread(name: "dropped")
                thread.perform(after: .seconds(1000)) {}?.label = "delayed"
                let limiters = ["pending", "idle", "flushes"].map { (label: String) in
                    Debounce<Int>(
                        interval: .seconds(1000), on: thread.loop,
                        whenReleased: label == "flushes" ? .flush : .discard, label: label
                    ) { _ in }
                }
                limiters[0](1)
                limiters[2](1)
                return limiters
            }()
            let expected: [Loop.Mistake] = [
                .droppedLimiter(limiter: "debounce \"pending\""),
                .droppedThread(name: "dropped", items: ["timer \"delayed\""]),
            ]
            precondition(mistakes.entries == expected)
            for limiter in limiters { limiter.invalidate() }
            _exit(mistakes.entries == expected ? 0 : 1)
        }
    }

    @Test("A limiter that flushes, has acted, has nothing pending or is on an ended or virtual loop may be dropped")
    func ordinaryLimiters() async {
        await #expect(processExitsWith: .success) {
            Loop.mistakeHandling = .trap
            let thread = try LoopThread()
            let make = { (loop: Loop, release: RateLimitRelease) in
                Debounce<Int>(interval: .seconds(1000), on: loop, whenReleased: release) { _ in }
            }
            make(thread.loop, .flush)(1)
            do { _ = make(thread.loop, .discard) }
            for end in [{ $0.cancel() }, { $0.flush() }, { $0.invalidate() }] as [(Debounce<Int>) -> Void] {
                let limiter = make(thread.loop, .discard)
                limiter(1)
                end(limiter)
            }
            do {
                let limiter = Throttle<Int>(
                    interval: .seconds(1000), edges: [.leading, .trailing], on: thread.loop
                ) { _ in }
                limiter(1)
                limiter(2)
            }
            do {
                let limiter = make(thread.loop, .discard)
                limiter(1)
                thread.stop()
                thread.joinBlocking()
            }
            make(Loop(clock: VirtualClock()), .discard)(1)
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

    @Test("A limiter that must lose no call, and has no handler as its loop ends, is reported")
    func limitersWithoutHandlersAtTheEnd() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            var limiters: [AnyObject] = []
            for release in [RateLimitRelease.flush, .discard] {
                let due = Throttle<Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, whenReleased: release, label: "due")
                due(1)
                let pending = Debounce<Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "pending")
                pending(1)
                let keyed = KeyedDebounce<Int, Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "keyed")
                keyed(1, for: 1)
                let queue = PacedQueue<Int>(
                    1, per: .seconds(1), capacity: 1, on: thread.loop, whenReleased: release, label: "queue")
                precondition(queue(1) == .accepted)
                let cancelled = Debounce<Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "cancelled")
                cancelled(1)
                cancelled.cancel()
                limiters += [due, pending, keyed, queue, cancelled]
            }
            thread.stop()
            thread.joinBlocking()
            let names = Set(mistakes.entries.map { if case .droppedLimiter(let name) = $0 { name } else { "another" } })
            let expected: Set = [
                "throttle \"due\"", "debounce \"pending\"", "debounce \"keyed\"", "paced queue \"queue\"",
            ]
            withExtendedLifetime(limiters) {}
            precondition(names == expected && mistakes.entries.count == 4)

            // Once, if the thread is dropped.
            var dropped: LoopThread? = try LoopThread()
            let limiter = Debounce<Int>(
                interval: .seconds(1000), on: dropped!.loop, whenReleased: .flush, label: "dropped")
            limiter(1)
            dropped = nil
            spin(until: !limiter(1))
            let found = mistakes.entries.dropFirst(4).filter { if case .droppedLimiter = $0 { true } else { false } }
            _exit(found == [.droppedLimiter(limiter: "debounce \"dropped\"")] ? 0 : 1)
        }
    }

    @Test("An asynchronous limiter without an action is reported when it is dropped with a call")
    func asyncLimitersWithoutActions() async {
        await #expect(processExitsWith: .success) {
            typealias Async = AsyncLimiter<Int, Void>
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            for release in [RateLimitRelease.flush, .discard] {
                let due = Async.throttle(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "due")
                due(1)
                try await thread.run {}
                precondition(due.description.contains(": one was due, and no handler is set; "))
                let pending = Async.debounce(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "pending")
                pending(2)
                let cancelled = Async.throttle(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "cancelled")
                cancelled(3)
                try await thread.run {}
                cancelled.cancel()
                let invalid = Async.debounce(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "invalid")
                invalid(4)
                invalid.invalidate()
            }
            // A thread that was stopped before discards what waits.
            let stopped = Async.throttle(interval: .seconds(1000), on: thread.loop, label: "stopped")
            stopped(5)
            try await thread.run {}
            thread.stop()
            _ = consume stopped
            thread.joinBlocking()
            let names = mistakes.entries.map { if case .droppedLimiter(let name) = $0 { name } else { "another" } }
            let expected = ["throttle \"due\"", "debounce \"pending\""]
            _exit(names.sorted() == (expected + expected).sorted() ? 0 : 1)
        }
    }
}
