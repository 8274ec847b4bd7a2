import Foundation
import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Jobs that a loop's thread cannot run any more.
@Suite(.timeBound) struct EndedLoopJobTests {
    private actor Resident {
        nonisolated let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private(set) var entries: [Int] = []
        private var isInside = false

        init(_ thread: LoopThread) { self.thread = thread }

        func add(_ entry: Int) {
            preconditionIsolated()
            precondition(!isInside)
            isInside = true
            entries.append(entry)
            isInside = false
        }
        func waitForEnd(_ begun: Gate) async throws -> String {
            begun.open()
            try await thread.waitForEnd()
            return whereabouts()
        }
        func addIfThere(_ entry: Int) throws {
            guard thread.isCurrent else { throw LoopThread.Stopped(thread: thread.name) }
            add(entry)
        }
        /// The kernel's name of the thread on which it runs.
        func whereabouts() -> String { Kernel.threadName }
        func wait(for gate: Gate, _ began: Gate) {
            isInside = true
            began.open()
            gate.wait()
            isInside = false
        }
    }

    @Test("Jobs for an ended loop still run")
    func jobsStillRun() async throws {
        let resident = Resident(try LoopThread(name: "ended"))
        #expect(await resident.whereabouts() == "ended")
        resident.thread.stop()
        resident.thread.joinBlocking()
        #expect(await resident.whereabouts() == "last resort")
        for number in 0..<100 { await resident.add(number) }
        #expect(await resident.entries == Array(0..<100))
        let task = Task(executorPreference: resident.thread.loop.taskExecutor) {
            await Task.yield()
            await resident.add(100)
            return Kernel.threadName
        }
        #expect(await task.value == "last resort")
        #expect(resident.thread.loop.isIsolatingCurrentContext() == nil)
    }

    @Test("An actor can refuse what comes after the end of its thread")
    func refuses() async throws {
        let resident = Resident(try LoopThread(name: "ended"))
        try await resident.addIfThere(1)
        resident.thread.stop()
        resident.thread.joinBlocking()
        #expect(await resident.whereabouts() == "last resort")
        await #expect(throws: LoopThread.Stopped(thread: "ended")) { try await resident.addIfThere(2) }
        #expect(await resident.entries == [1])
    }

    @Test("Jobs for an ended loop are reported once for each loop")
    func reportedOnce() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            for number in 0..<2 {
                let resident = Resident(try LoopThread(name: "ended-\(number)"))
                resident.thread.stop()
                resident.thread.joinBlocking()
                for number in 0..<10 { await resident.add(number) }
            }
        }
        let output = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        let lines = output.split(separator: "\n").filter { $0.contains("thread of last resort") }
        #expect(lines.count == 2)
        // An actor that refuses such jobs has made no mistake: the text has to be short, and to say so.
        for line in lines {
            #expect(line.contains("An actor whose functions guard thread.isCurrent need do nothing"))
            let words = line.replacing("RunLoopKit: ", with: "").replacing(" (Reported only once.)", with: "")
            #expect(words.split(separator: " ").count <= 45)
        }
    }

    @Test("An actor that waits for the end of its own thread continues after it, on the last resort")
    func actorWaitsForItsThread() async throws {
        let resident = Resident(try LoopThread(name: "ended"))
        let begun = Gate()
        async let place = resident.waitForEnd(begun)
        await eventually(begun.isOpenNow)
        // Its turn comes when the other call is suspended.
        await resident.add(1)
        resident.thread.stop()
        #expect(try await place == "last resort")
    }

    @Test("The report of jobs for an ended loop names what resumed its tasks")
    func reportNamesSleepers() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let thread = try LoopThread(name: "ended")
            let sleeper = Task(executorPreference: thread.loop.taskExecutor) {
                try await Task.sleep(for: .seconds(1000), clock: .loop(thread.loop))
            }
            await eventually(thread.loop.count(of: "timer") == 1)
            thread.stop()
            await #expect(throws: Loop.Ended.self) { try await sleeper.value }
        }
        let output = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(output.contains("cancel and await tasks, which Loop.Ended resumes"))
    }

    @Test("A clean stop runs the jobs that were enqueued before it")
    func cleanStop() async throws {
        let thread = try LoopThread(name: "clean")
        let go = thread.occupy()
        let names = Log<String>()
        // More than one drain runs.
        let tasks = (0..<100).map { _ in
            Task(executorPreference: thread.loop.taskExecutor) { names.add(Kernel.threadName) }
        }
        thread.stop()
        go.open()
        for task in tasks { await task.value }
        #expect(names.entries == Array(repeating: "clean", count: 100))
    }

    @Test("A clean stop runs the jobs that were enqueued before it, those of low priority too")
    func cleanStopOfAllPriorities() throws {
        let thread = try LoopThread(name: "clean")
        let go = thread.occupy()
        let names = Log<String>()
        let executor = thread.loop.taskExecutor
        // The first drain runs sixteen.
        for number in 0..<17 {
            Task(executorPreference: executor, priority: .high) {
                names.add(Kernel.threadName)
                guard number == 16 else { return }
                for _ in 0..<10 { Task(executorPreference: executor, priority: .high) {} }
            }
        }
        for _ in 0..<5 {
            Task(executorPreference: executor, priority: .background) { names.add(Kernel.threadName) }
        }
        thread.stop()
        go.open()
        thread.joinBlocking()
        #expect(names.entries == Array(repeating: "clean", count: 22))
    }

    @Test("A stop between two drains leaves no job to the last resort")
    func stopBetweenDrains() async throws {
        let thread = try LoopThread(name: "clean")
        let names = Log<String>()
        let tasks = try thread.performBlocking {
            (0..<100).map { number in
                Task(executorPreference: Loop.current.taskExecutor) {
                    if number == 5 { thread.stop() }
                    names.add(Kernel.threadName)
                }
            }
        }
        for task in tasks { await task.value }
        #expect(names.entries == Array(repeating: "clean", count: 100))
    }

    @Test("A discarding stop leaves its jobs to the last resort once the thread has ended")
    func discardingStop() async throws {
        let thread = try LoopThread(name: "discarding")
        let resident = Resident(thread)
        let (go, began) = (Gate(), Gate())
        let first = Task(executorPreference: thread.loop.taskExecutor) { await resident.wait(for: go, began) }
        began.wait()
        // Queued before and after the stop; none may begin while the first one is still inside the actor.
        let before = (0..<10).map { number in
            Task(executorPreference: thread.loop.taskExecutor) { await resident.add(number) }
        }
        thread.stop(discardingPending: true)
        let after = (10..<20).map { number in
            Task(executorPreference: thread.loop.taskExecutor) { await resident.add(number) }
        }
        go.open()
        await first.value
        for task in before + after { await task.value }
        #expect(await resident.entries == Array(0..<20))
        #expect(await resident.whereabouts() == "last resort")
    }

    /// In a process of its own, because each loop writes a message.
    @Test("Jobs enqueued while the thread ends are not lost")
    func jobsAtTheEnd() async {
        await #expect(processExitsWith: .success) {
            for round in 0..<200 {
                let resident = Resident(try LoopThread())
                let count = await withTaskGroup(of: Void.self) { group in
                    for number in 0..<20 {
                        group.addTask { await resident.add(number) }
                        if number == round % 20 { resident.thread.stop(discardingPending: round % 2 == 0) }
                    }
                    await group.waitForAll()
                    return await resident.entries.count
                }
                precondition(count == 20)
            }
        }
    }

    @Test("A loop in virtual time hands its jobs over when it ends")
    func virtualLoopEnds() async throws {
        let name = try await endWithAJob().value
        #expect(name == "last resort")
    }

    private func endWithAJob() throws -> Task<String, Never> {
        let loop = Loop(clock: VirtualClock())
        let task = Task(executorPreference: loop.taskExecutor) { Kernel.threadName }
        loop.end()
        return task
    }

    @Test("A deallocated loop leaves the jobs of tasks to the last resort")
    func deallocatedLoop() async throws {
        weak var remains: Loop?
        let (task, executor) = {
            let loop = Loop(clock: VirtualClock())
            remains = loop
            return (Task(executorPreference: loop.taskExecutor) { Kernel.threadName }, loop.taskExecutor)
        }()
        #expect(remains == nil)
        #expect(await task.value == "last resort")
        // And jobs that are enqueued later.
        let late = Task(executorPreference: executor) {
            await Task.yield()
            return Kernel.threadName
        }
        #expect(await late.value == "last resort")
    }

    @Test("A thread that ends with its own loop hands its jobs over")
    func threadWithItsOwnLoop() async throws {
        let mailbox = Log<Task<String, Never>>()
        let thread = Thread {
            mailbox.add(Task(executorPreference: Loop.current.taskExecutor) { Kernel.threadName })
        }
        thread.start()
        await eventually(mailbox.entries.count == 1)
        #expect(await mailbox.entries[0].value == "last resort")
    }

    // MARK: A stop, and the jobs before it

    @Test("A clean stop runs jobs that an isolated handler held back")
    func heldBackJobs() async throws {
        let thread = try LoopThread(name: "clean")
        let resident = Resident(thread)
        let mailbox = Log<Task<String, Never>>()
        thread.loop.add(
            Loop.Timer(after: .zero, isolation: resident) { home, _ in
                mailbox.add(Task(executorPreference: home.thread.loop.taskExecutor) { Kernel.threadName })
                // The job's turn comes here, and it has to wait until the handler returns.
                Loop.current.run(mode: .default, for: .zero)
                home.thread.stop()
            }, in: .default)
        await eventually(mailbox.entries.count == 1)
        #expect(await mailbox.entries[0].value == "clean")
    }

    /// The first thread has entered its job and has not yet posted it when the second one stops the loop: both jobs
    /// came before the stop. In a process of its own, because a loop may write a message.
    @Test("Jobs of two threads that were enqueued before a stop run on the loop's thread")
    func jobsOfTwoThreads() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<2000 {
                let thread = try LoopThread(name: "clean")
                let executor = thread.loop.taskExecutor
                let go = Gate()
                let other = Task.detached {
                    go.open()
                    return Task(executorPreference: executor) {}
                }
                go.wait()
                let mine = Task(executorPreference: executor) { Kernel.threadName }
                thread.stop()
                let name = await mine.value
                precondition(name == "clean")
                await other.value.value
            }
        }
    }

    @Test("A discarding stop may follow a clean one that takes too long")
    func discardingAfterClean() async throws {
        let thread = try LoopThread(name: "impatient")
        let (began, go) = (Gate(), Gate())
        let names = Log<String>()
        let tasks = try thread.performBlocking {
            (0..<100).map { number in
                Task(executorPreference: Loop.current.taskExecutor) {
                    if number == 0 { thread.stop() }
                    if number == 50 {
                        began.open()
                        go.wait()
                    }
                    names.add(Kernel.threadName)
                }
            }
        }
        await eventually(began.isOpenNow)
        thread.stop(discardingPending: true)
        go.open()
        for task in tasks { await task.value }
        let expected = Array(repeating: "impatient", count: 51) + Array(repeating: "last resort", count: 49)
        #expect(names.entries.sorted() == expected)
    }

    @Test("A job that exits its thread is the thread's last")
    func jobExitsItsThread() async throws {
        let thread = try LoopThread(name: "curt")
        let names = Log<String>()
        let tasks = try thread.performBlocking {
            (0..<10).map { number in
                Task(executorPreference: Loop.current.taskExecutor) {
                    if number == 2 { thread.stop(discardingPending: true) }
                    names.add(Kernel.threadName)
                }
            }
        }
        for task in tasks { await task.value }
        #expect(names.entries.prefix(3) == ["curt", "curt", "curt"])
        #expect(names.entries.dropFirst(3).allSatisfy { $0 == "last resort" })
    }

    /// The thread of last resort stands in for one loop at a time, and only while it runs that loop's jobs.
    @Test("The last resort is isolated to the loop whose job it runs")
    func isolationOnTheLastResort() async throws {
        let (here, there) = (Resident(try LoopThread()), Resident(try LoopThread()))
        for thread in [here.thread, there.thread] {
            thread.stop()
            thread.joinBlocking()
        }
        let task = Task(executorPreference: here.thread.loop.taskExecutor) {
            here.preconditionIsolated()
            return (here.thread.loop.isIsolatingCurrentContext(), there.thread.loop.isIsolatingCurrentContext())
        }
        let (own, foreign) = await task.value
        #expect(own == true && foreign == nil)
    }

    @Test("A loop that ends on the thread of last resort is served there")
    func loopEndsOnTheLastResort() async throws {
        let dead = try LoopThread()
        dead.stop()
        dead.joinBlocking()
        let task = Task(executorPreference: dead.loop.taskExecutor) {
            let loop = Loop(clock: VirtualClock())
            defer { loop.end() }
            return Task(executorPreference: loop.taskExecutor) { loop.isIsolatingCurrentContext() }
        }
        #expect(await task.value.value == true)
    }

    @Test("An ended loop is no longer isolated to its old thread")
    func isolationOnTheOldThread() throws {
        let (loop, _) = Loop.inVirtualTime()
        #expect(loop.isIsolatingCurrentContext() == true)
        loop.end()
        #expect(loop.isIsolatingCurrentContext() == nil)
    }

    /// In a process of its own, so that no other loop's jobs run on the thread of last resort.
    @Test("An ended loop is deallocated once its jobs have run")
    func endedLoopIsDeallocated() async {
        await #expect(processExitsWith: .success) {
            weak var remains: Loop?
            do {
                let thread = try LoopThread()
                remains = thread.loop
                let resident = Resident(thread)
                thread.stop()
                thread.joinBlocking()
                await resident.add(1)
            }
            await eventually(remains == nil)
            // Without the handlers of `exit`: the other thread may still be deallocating the loop, which LeakSanitizer
            // would report as a leak.
            _exit(EXIT_SUCCESS)
        }
    }

    @Test("Ended loops take turns on the last resort")
    func loopsTakeTurns() async throws {
        let (one, other) = (try LoopThread(), try LoopThread())
        for thread in [one, other] {
            thread.stop()
            thread.joinBlocking()
        }
        let (began, isOver) = (Gate(), Gate())
        // Always has another job, until the other loop's job has run. A pause is part of the job: without one, the job
        // would take the CPU from the tasks that this test waits for.
        let restless = Task(executorPreference: one.loop.taskExecutor) {
            began.open()
            while !isOver.isOpenNow {
                leaveProcessor(forMicroseconds: 5000)
                await Task.yield()
            }
        }
        await eventually(began.isOpenNow)
        await Task(executorPreference: other.loop.taskExecutor) { isOver.open() }.value
        await restless.value
    }

    @Test("A job that blocks the last resort does not keep other loops' jobs waiting")
    func blockingJob() async throws {
        let threads = [try LoopThread(), try LoopThread(), try LoopThread()]
        for thread in threads {
            thread.stop()
            thread.joinBlocking()
        }
        let (one, two, go) = (Gate(), Gate(), Gate())
        let blocked = [(threads[0], one), (threads[1], two)].map { thread, began in
            Task(executorPreference: thread.loop.taskExecutor) {
                began.open()
                go.wait()
            }
        }
        await eventually(one.isOpenNow && two.isOpenNow)
        await Task(executorPreference: threads[2].loop.taskExecutor) { go.open() }.value
        for task in blocked { await task.value }
    }

    /// In a process of its own, so that no other test's jobs need threads.
    @Test("One thread of last resort stays once its jobs are done")
    func oneThreadStays() async {
        await #expect(processExitsWith: .success) {
            let go = Gate()
            let blocked = try (0..<5).map { _ in
                let (thread, began) = (try LoopThread(), Gate())
                thread.stop()
                thread.join()
                let task = Task(executorPreference: thread.loop.taskExecutor) {
                    began.open()
                    go.wait()
                }
                began.wait()
                return task
            }
            precondition(Kernel.threads(named: "last resort") == 5)
            go.open()
            for task in blocked { await task.value }
            // It waits for ever if they do not end.
            await eventually(Kernel.threads(named: "last resort") == 1)
        }
    }

    /// On whichever thread of last resort: never two at a time.
    @Test("An ended loop's jobs run one after the other, also with several threads of last resort")
    func oneJobAfterTheOther() async throws {
        let residents = try (0..<4).map { _ in Resident(try LoopThread()) }
        for resident in residents {
            resident.thread.stop()
            resident.thread.joinBlocking()
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 { group.addTask { await residents[number % 4].add(number) } }
        }
        for resident in residents { #expect(await resident.entries.count == 100) }
    }

    /// Otherwise a job could enter an actor that a cancel handler has entered.
    @Test("The thread keeps its jobs until the last handler has returned")
    func jobsOfTheLastHandler() async throws {
        let thread = try LoopThread()
        let resident = Resident(thread)
        let answers = Log<Bool?>()
        thread.loop.add(
            Loop.Source0(cancel: { loop, _ in answers.add(loop.isIsolatingCurrentContext()) }, perform: {}),
            in: .default)
        thread.loop.onEnd { [unowned(unsafe) loop = thread.loop] in answers.add(loop.isIsolatingCurrentContext()) }
        let task = try thread.performBlocking {
            thread.stop(discardingPending: true)
            return Task(executorPreference: Loop.current.taskExecutor) { await resident.add(1) }
        }
        await task.value
        #expect(answers.entries == [true, true])
    }
}
