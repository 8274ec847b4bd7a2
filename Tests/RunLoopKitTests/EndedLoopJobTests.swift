import Foundation
import RunLoopKit
import Testing

/// What happens to jobs that a loop's thread cannot run any more.
@Suite struct EndedLoopJobTests {
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
        /// The kernel's name of the thread that it runs on.
        func whereabouts() -> String { Kernel.threadName }
        func wait(for gate: Gate, _ began: Gate) {
            isInside = true
            began.open()
            gate.wait()
            isInside = false
        }
    }

    @Test func jobsForAnEndedLoopRunAllTheSame() async throws {
        let resident = Resident(try LoopThread(name: "ended"))
        #expect(await resident.whereabouts() == "ended")
        resident.thread.stop()
        resident.thread.join()
        #expect(await resident.whereabouts() == "last resort")
        for number in 0..<100 { await resident.add(number) }
        #expect(await resident.entries == Array(0..<100))
        let task = Task(executorPreference: resident.thread.loop.taskExecutor) {
            await Task.yield()
            await resident.add(100)
            return Kernel.threadName
        }
        #expect(await task.value == "last resort")
        #expect(resident.thread.loop.isIsolatingCurrentContext() == false)
    }

    @Test func thatIsSaidOnceForEachLoop() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            for _ in 0..<2 {
                let resident = Resident(try LoopThread())
                resident.thread.stop()
                resident.thread.join()
                for number in 0..<10 { await resident.add(number) }
            }
        }
        let output = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        let lines = output.split(separator: "\n").filter { $0.contains("thread of last resort") }
        #expect(lines.count == 2)
    }

    @Test func aCleanStopRunsTheJobsThatCameBefore() async throws {
        let thread = try LoopThread(name: "clean")
        let (go, began) = (Gate(), Gate())
        thread.perform {
            began.open()
            go.wait()
        }
        began.wait()
        let names = Log<String>()
        // More than a drain runs.
        let tasks = (0..<100).map { _ in
            Task(executorPreference: thread.loop.taskExecutor) { names.add(Kernel.threadName) }
        }
        thread.stop()
        go.open()
        for task in tasks { await task.value }
        #expect(names.entries == Array(repeating: "clean", count: 100))
    }

    @Test func aStopBetweenTwoDrainsLosesNoJobToTheLastResort() async throws {
        let thread = try LoopThread(name: "clean")
        let names = Log<String>()
        let tasks = try thread.performAndWait {
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

    @Test func aDiscardingStopLeavesItsJobsToTheLastResortOnceTheThreadHasEnded() async throws {
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

    /// In a process of its own, since each loop complains.
    @Test func jobsThatMeetTheEndOfTheThreadAreNotLost() async {
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

    @Test func theEndOfALoopInVirtualTimeHandsItsJobsOver() async throws {
        let name = try await endWithAJob().value
        #expect(name == "last resort")
    }

    private func endWithAJob() throws -> Task<String, Never> {
        let loop = Loop(clock: VirtualClock())
        let task = Task(executorPreference: loop.taskExecutor) { Kernel.threadName }
        loop.end()
        return task
    }

    @Test func aThreadThatEndsWithItsOwnLoopHandsItsJobsOver() async throws {
        let mailbox = Log<Task<String, Never>>()
        let thread = Thread {
            mailbox.add(Task(executorPreference: Loop.current.taskExecutor) { Kernel.threadName })
        }
        thread.start()
        await eventually(mailbox.entries.count == 1)
        #expect(await mailbox.entries[0].value == "last resort")
    }
}
