import LoopTestSupport
import RunLoopKit
import Synchronization
import TestSupport
import Testing

/// An actor that lives on a thread of its own, as the documentation shows it.
private actor Resident {
    nonisolated let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }

    var entries: [Int] = []

    init() throws { thread = try LoopThread(name: "resident") }
    init(_ thread: LoopThread) { self.thread = thread }

    var isAtHome: Bool { thread.isCurrent }
    func add(_ entry: Int) { entries.append(entry) }
    func addLater(_ entry: Int) async {
        await Task.yield()
        entries.append(entry)
    }
    nonisolated func runNested() { thread.loop.run(mode: .default, for: .zero) }
    /// Handlers may call functions that do not wait.
    func count() -> Int { entries.count }
}

private actor Homeless {
    func isOn(_ thread: LoopThread) -> Bool { thread.isCurrent }
}

@concurrent private func isCurrent(_ thread: LoopThread) async -> Bool { thread.isCurrent }

/// Keeps a thread busy until it is released.
private final class Occupation: Sendable {
    private let end = Gate()

    init(_ thread: LoopThread) {
        let began = Gate()
        thread.perform { [end] in
            began.open()
            end.wait()
        }
        began.wait()
    }

    func finish() { end.open() }
}

@Suite(.timeBound) struct ExecutorTests {
    // MARK: Place and order

    @Test("An actor on a loop runs on its thread")
    func actorOnALoop() async throws {
        let resident = try Resident()
        #expect(await resident.isAtHome)
        #expect(!resident.thread.isCurrent)
        await resident.addLater(1)
        #expect(await resident.entries == [1])
    }

    @Test("Jobs of one priority run in order")
    func jobsOfOnePriority() async throws {
        let resident = try Resident()
        let loop = resident.thread.loop
        let tasks = try resident.thread.performBlocking {
            (0..<1000).map { number in
                Task(executorPreference: loop.taskExecutor) { await resident.add(number) }
            }
        }
        for task in tasks { await task.value }
        #expect(await resident.entries == Array(0..<1000))
    }

    @Test("A task that prefers a loop runs there")
    func taskPreference() async throws {
        let thread = try LoopThread()
        let homeless = Homeless()
        await withTaskExecutorPreference(thread.loop.taskExecutor) {
            #expect(thread.isCurrent)
            #expect(await isCurrent(thread))
            #expect(await homeless.isOn(thread))
            async let child = isCurrent(thread)
            #expect(await child)
            await Task.yield()
            #expect(thread.isCurrent)
        }
        #expect(!thread.isCurrent)
        let task = Task(executorPreference: thread.loop.taskExecutor) { thread.isCurrent }
        #expect(await task.value)
    }

    @Test("An actor and a task preference may name the same loop")
    func actorAndTaskPreference() async throws {
        let resident = try Resident()
        let thread = resident.thread
        let other = Resident(thread)
        await withTaskExecutorPreference(thread.loop.taskExecutor) {
            for number in 0..<100 {
                #expect(thread.isCurrent)
                await resident.addLater(number)
                #expect(await other.isAtHome)
                #expect(await isCurrent(thread))
                await other.add(number)
            }
        }
        let both = await (resident.entries, other.entries)
        #expect(both.0 == Array(0..<100) && both.1 == both.0)
    }

    @Test("Actors on two loops keep to them under a task preference for one")
    func twoLoops() async throws {
        let (here, there) = (try Resident(), try Resident())
        await withTaskExecutorPreference(here.thread.loop.taskExecutor) {
            for _ in 0..<100 {
                #expect(await there.isAtHome)
                #expect(here.thread.isCurrent)
                #expect(await here.isAtHome)
            }
        }
    }

    @Test("The task executor is one object and is deallocated with its loop")
    func oneTaskExecutor() throws {
        weak var remains: LoopTaskExecutor?
        weak var loop: Loop?
        do {
            let thread = try LoopThread()
            let first = ObjectIdentifier(thread.loop.taskExecutor)
            #expect(ObjectIdentifier(thread.loop.taskExecutor) == first)
            (remains, loop) = (thread.loop.taskExecutor, thread.loop)
        }
        spin(until: loop == nil && remains == nil)
    }

    // MARK: Priority, cancellation, fairness

    @Test("Jobs of higher priority run first, and their priority is visible")
    func priorities() async throws {
        let thread = try LoopThread()
        let order = Log<TaskPriority>()
        let occupation = Occupation(thread)
        let priorities: [TaskPriority] = [.background, .utility, .medium, .userInitiated]
        let tasks = priorities.map { priority in
            Task(executorPreference: thread.loop.taskExecutor, priority: priority) { order.add(Task.currentPriority) }
        }
        occupation.finish()
        await eventually(order.entries.count == 4)  // Awaiting a task raises its priority.
        for task in tasks { await task.value }
        #expect(order.entries == priorities.reversed())
    }

    @Test("A job of low priority does not wait for ever")
    func lowPriority() async throws {
        let thread = try LoopThread()
        let order = Log<TaskPriority>()
        let occupation = Occupation(thread)
        let executor = thread.loop.taskExecutor
        for _ in 0..<2 {
            Task(executorPreference: executor, priority: .background) { order.add(.background) }
        }
        for _ in 0..<100 {
            Task(executorPreference: executor, priority: .userInitiated) { order.add(.userInitiated) }
        }
        occupation.finish()
        await eventually(order.entries.count == 102)
        let places = order.entries.indices.filter { order.entries[$0] == .background }
        #expect(places == [Loop.jobsPerDrain - 1, 2 * Loop.jobsPerDrain - 1])
    }

    @Test("A cancelled task runs and sees that it is cancelled")
    func cancelledTask() async throws {
        let resident = try Resident()
        let occupation = Occupation(resident.thread)
        let task = Task(executorPreference: resident.thread.loop.taskExecutor) {
            await resident.add(1)
            return Task.isCancelled
        }
        task.cancel()
        occupation.finish()
        #expect(await task.value)
        #expect(await resident.entries == [1])
    }

    /// Jobs that never end, beside a source that is always signalled, a port that is always ready and a timer that is
    /// always due.
    @Test("A pass runs three drains at most, so that all else gets its turn")
    func drainsPerPass() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let (jobs, passes, isOver) = (Count(), 600, Gate())
        let (ports, timers, sources) = (Count(), Count(), Count())
        let port = try Loop.PortSource { _ in ports.up() }
        let source = Loop.Source0 { sources.up() }
        loop.add(port, in: .default)
        loop.add(source, in: .default)
        loop.add(Loop.Timer(every: .nanoseconds(1)) { _ in timers.up() }, in: .default)
        let jobsOfPasses = LoopBound<[Int]>([], on: loop)
        loop.add(
            Loop.Observer(.beforeTimers) { _, _ in
                jobsOfPasses.value.append(jobs.value)
                if jobsOfPasses.value.count > passes { loop.stop() }
                port.send()
                source.signal()
                clock.advance(by: .nanoseconds(2))
            }, in: .default)
        for _ in 0..<100 {
            Task(executorPreference: loop.taskExecutor) {
                while !isOver.isOpenNow {
                    jobs.up()
                    await Task.yield()
                }
            }
        }
        #expect(loop.run(mode: .default, until: .distantFuture) == .stopped)
        let counts = jobsOfPasses.value
        let most = zip(counts, counts.dropFirst()).map { $1 - $0 }.max()!
        #expect(most == 3 * Loop.jobsPerDrain)
        // A pass serves one port, the timers, or a wake-up.
        #expect(sources.value >= passes && ports.value >= passes / 3 - 1 && timers.value >= passes / 3 - 1)
        isOver.open()
        for _ in 0..<20 { loop.run(mode: .default, for: .zero) }
        loop.end()
    }

    @Test("A burst of jobs wakes the loop once")
    func burstOfJobs() throws {
        let thread = try LoopThread()
        spin(until: thread.loop.isWaiting && thread.loop.counters.waits > 0)
        let occupation = Occupation(thread)
        let before = thread.loop.counters.wakeWrites
        let ran = Count()
        for _ in 0..<1000 { Task(executorPreference: thread.loop.taskExecutor) { ran.up() } }
        occupation.finish()
        spin(until: ran.value == 1000)
        #expect(thread.loop.counters.wakeWrites == before)
    }

    @Test("Jobs run in every common mode and in no other")
    func commonModes() throws {
        let (loop, _) = Loop.inVirtualTime()
        loop.addCommonMode(.tracking)
        let ran = Count()
        for (mode, expected) in [("modal", 0), (.tracking, 1), (.default, 2)] as [(Loop.Mode, Int)] {
            Task(executorPreference: loop.taskExecutor) { ran.up() }
            // An item that the run has to wait for.
            loop.add(Loop.Timer(after: .seconds(1)) { _ in }, in: mode)
            loop.run(mode: mode, for: .seconds(2))
            #expect(ran.value == (expected == 0 ? 0 : expected + 1))
        }
        loop.end()
    }

    // MARK: Nested runs

    @Test("No job begins while another one runs the loop")
    func noJobInsideAJob() async throws {
        let resident = try Resident()
        let loop = resident.thread.loop
        let order = Log<String>()
        let outer = Task(executorPreference: loop.taskExecutor) {
            order.add("begin")
            Task(executorPreference: loop.taskExecutor) { order.add("other") }
            Loop.current.perform { order.add("block") }
            resident.runNested()
            order.add("end")
        }
        await outer.value
        await resident.add(1)
        #expect(order.entries == ["begin", "block", "end", "other"])
    }

    @Test("A run nested in a plain handler runs jobs")
    func runInsideAHandler() throws {
        let thread = try LoopThread()
        let order = Log<String>()
        try thread.performAndWait {
            Task(executorPreference: Loop.current.taskExecutor) { order.add("job") }
            Loop.current.run(mode: .default, for: .zero)
            order.add("end")
        }
        #expect(order.entries == ["job", "end"])
    }

    /// That run does not see the drain: it was posted before.
    @Test("A run inside a block serves jobs, though a drain waits behind the block")
    func runInsideABlockBeforeADrain() throws {
        let thread = try LoopThread()
        let go = thread.occupy()
        let order = Log<String>()
        thread.perform {
            for number in 1...2 {
                Task(executorPreference: Loop.current.taskExecutor) { order.add("job \(number)") }
                Loop.current.run(mode: .default, for: .zero)
                order.add("run \(number)")
            }
            Loop.current.run(mode: .default, for: .zero)
            Task(executorPreference: Loop.current.taskExecutor) { order.add("job after it") }
        }
        Task(executorPreference: thread.loop.taskExecutor) { order.add("first job") }
        go.open()
        // After the block; the second one after the drain of the last job.
        for _ in 0..<2 { try thread.performAndWait {} }
        #expect(order.entries == ["first job", "job 1", "run 1", "job 2", "run 2", "job after it"])
    }

    /// Each drain posts another as long as jobs wait.
    @Test("Runs inside a block do not multiply the drains")
    func drainsDoNotMultiply() throws {
        let thread = try LoopThread()
        let isOver = Box<Bool>()
        let most = try thread.performBlocking {
            let loop = Loop.current
            // More jobs than a drain runs: the queue never becomes empty.
            for _ in 0..<40 {
                Task(executorPreference: loop.taskExecutor) { while isOver.value != true { await Task.yield() } }
            }
            var most = 0
            for _ in 0..<50 {
                loop.run(mode: .default, for: .zero)
                most = max(most, loop.waitingBlocks)
            }
            return most
        }
        #expect(most <= 2)
        // The drain behind the block has joined the others.
        #expect(try thread.performBlocking { thread.loop.waitingBlocks } <= 1)
        isOver.value = true
    }

    // MARK: Isolation by thread

    @Test("Every handler may access an actor of its loop")
    func actorsInHandlers() async throws {
        let resident = try Resident()
        let loop = resident.thread.loop
        let done = Count()
        let touch: @Sendable () -> Void = {
            resident.preconditionIsolated()
            resident.assumeIsolated { $0.add(1) }
            done.up()
        }
        let port = try Loop.PortSource { _ in touch() }
        loop.add(port, in: .default)
        port.send()
        let source = Loop.Source0 { touch() }
        loop.add(source, in: .default)
        source.signal()
        loop.add(Loop.Observer(.beforeTimers, repeats: false) { _, _ in touch() }, in: .default)
        loop.add(Loop.Timer(after: .zero) { _ in touch() }, in: .default)
        loop.perform {
            Loop.current.perform(in: "nested") { touch() }
            Loop.current.run(mode: "nested", for: .zero)
        }
        await eventually(done.value == 5)
        #expect(await resident.count() == 5)
        // The loop retains their captures.
        for item in [port, source] { item.invalidate() }
        #expect(loop.isIsolatingCurrentContext() == nil)
        #expect(try resident.thread.performBlocking { Loop.current.isIsolatingCurrentContext() } == true)
    }

    // MARK: Lifetime

    @Test("An actor that is deallocated releases its thread and loop")
    func actorReleasesItsThread() async throws {
        weak var loop: Loop?
        weak var remains: Resident?
        do {
            let resident = try Resident()
            (loop, remains) = (resident.thread.loop, resident)
            await resident.add(1)
        }
        await eventually(remains == nil && loop == nil)
    }

    /// The actor's own job releases the last reference, repeatedly.
    @Test("A job may release the last reference")
    func lastReferenceInAJob() async throws {
        for _ in 0..<200 {
            weak var loop: Loop?
            do {
                let resident = try Resident()
                loop = resident.thread.loop
                Task { await resident.addLater(1) }
            }
            await eventually(loop == nil)
        }
    }

    @Test("An isolated deinit runs on the thread")
    func isolatedDeinit() async throws {
        actor Mourned {
            let thread: LoopThread
            let wasAtHome: Gate
            nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
            init(_ wasAtHome: Gate) throws {
                thread = try LoopThread()
                self.wasAtHome = wasAtHome
            }
            isolated deinit { if thread.isCurrent { wasAtHome.open() } }
        }
        let wasAtHome = Gate()
        _ = try Mourned(wasAtHome)
        wasAtHome.wait()
    }
}
