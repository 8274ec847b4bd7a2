import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// How a thread is stopped, and what becomes of the work that it has accepted.
@Suite(.timeBound) struct LoopThreadStopTests {
    @Test("A clean stop runs what was accepted")
    func cleanStop() throws {
        let thread = try LoopThread()
        let (began, go) = (Gate(), Gate())
        let ran = Log<String>()
        thread.perform {
            began.open()
            go.wait()
        }
        began.wait()
        for number in 0..<10 { thread.perform { ran.add("\(number)") } }
        // Also blocks for a mode that never runs.
        thread.loop.perform(in: "never run") { ran.add("other mode") }
        thread.stop()
        #expect(!thread.perform { ran.add("late") })
        #expect(!thread.loop.perform { ran.add("late") })
        #expect(thread.perform(after: .zero) { ran.add("late") } == nil)
        go.open()
        thread.join()
        #expect(ran.entries == (0..<10).map { "\($0)" } + ["other mode"])
    }

    @Test("A discarding stop drops blocks that have not begun and answers those that wait")
    func discardingStop() async throws {
        let thread = try LoopThread(name: "brief")
        let (began, go) = (Gate(), Gate())
        let ran = Count()
        thread.perform {
            began.open()
            go.wait()
        }
        began.wait()
        for _ in 0..<10 { thread.perform { ran.up() } }
        let waiting = Task { try await thread.run { ran.up() } }
        let other = try LoopThread()
        let answer = Task {
            try await other.run { () -> LoopThread.Stopped? in
                do throws(any Error) { try thread.performAndWait { ran.up() } } catch {
                    return error as? LoopThread.Stopped
                }
                return nil
            }
        }
        // Both have been handed over: ten and two. Yields the thread, which the tasks may need.
        await eventually("\(thread.loop)".contains("12 blocks posted"))
        thread.stop(discardingPending: true)
        await #expect(throws: LoopThread.Stopped(thread: "brief")) { try await waiting.value }
        #expect(try await answer.value == LoopThread.Stopped(thread: "brief"))
        go.open()
        thread.joinBlocking()
        #expect(ran.value == 0)
    }

    @Test("Blocks that a pass has already taken out are discarded too")
    func discardedInAPass() throws {
        let thread = try LoopThread()
        let ran = Count()
        let (began, go) = (Gate(), Gate())
        try thread.performAndWait {
            // One drain has both: the first waits until the stop has come.
            Loop.current.perform {
                began.open()
                go.wait()
            }
            Loop.current.perform { ran.up() }
        }
        began.wait()
        thread.stop(discardingPending: true)
        go.open()
        thread.join()
        #expect(ran.value == 0)
    }

    @Test("A caller whose block is behind a long one in the same pass is answered at once")
    func answeredInAPass() async throws {
        let thread = try LoopThread(name: "busy")
        let (begun, posted, long, go) = (Gate(), Gate(), Gate(), Gate())
        thread.perform {
            Loop.current.perform(in: .common) {
                long.open()
                go.wait()
            }
            begun.open()
            posted.wait()
        }
        await eventually(begun.isOpenNow)
        let waiting = [
            Task { try await thread.run {} }, Task { try await thread.loop.run(in: .common) {} },
        ]
        // The next step has the long block and those of the callers.
        await eventually("\(thread.loop)".contains("3 blocks posted"))
        posted.open()
        await eventually(long.isOpenNow)
        thread.stop(discardingPending: true)
        await #expect(throws: LoopThread.Stopped.self) { try await waiting[0].value }
        await #expect(throws: Loop.NoAnswer.self) { try await waiting[1].value }
        go.open()
        thread.joinBlocking()
    }

    @Test("Work offered after the end is refused")
    func workAfterTheEnd() async throws {
        let thread = try LoopThread(name: "gone")
        thread.stop()
        thread.stop()
        thread.joinBlocking()
        thread.joinBlocking()
        #expect(!thread.perform {})
        #expect(thread.perform(after: .zero) {} == nil)
        #expect(throws: LoopThread.Stopped(thread: "gone")) { try thread.performAndWait {} }
        await #expect(throws: LoopThread.Stopped(thread: "gone")) { try await thread.run {} }
        #expect("\(LoopThread.Stopped(thread: "gone"))".contains("\"gone\" has been stopped"))
        thread.stop(discardingPending: true)
    }

    @Test("A stop right after the start is not lost")
    func immediateStop() throws {
        for _ in 0..<300 {
            let thread = try LoopThread()
            thread.stop()
            thread.join()
        }
    }

    @Test("Many threads may stop and join a thread")
    func manyStopsAndJoins() throws {
        for _ in 0..<50 {
            let thread = try LoopThread()
            let helpers = try (0..<3).map { _ in
                let helper = try LoopThread()
                helper.perform {
                    thread.stop()
                    thread.join()
                }
                return helper
            }
            for helper in helpers {
                helper.stop()
                helper.join()
            }
            #expect(!thread.perform {})
        }
    }

    @Test("A stop inside a nested run ends all runs")
    func stopInANestedRun() throws {
        let thread = try LoopThread()
        let inside = Gate()
        thread.perform {
            Loop.current.perform {
                inside.open()
                Loop.current.run(mode: .default, until: .distantFuture)
            }
            Loop.current.run(mode: .default, until: .distantFuture)
        }
        inside.wait()
        thread.stop()
        thread.join()
    }

    @Test("A stop also ends a nested run in a mode of its own")
    func stopInAModeOfItsOwn() throws {
        let thread = try LoopThread()
        let inside = Gate()
        let keep = Loop.Source0 {}
        thread.loop.add(keep, in: "modal")
        thread.perform {
            Loop.current.perform(in: "modal") { inside.open() }
            Loop.current.run(mode: "modal", until: .distantFuture)
        }
        inside.wait()
        thread.stop()
        thread.join()
    }

    @Test("Accepted blocks run at the end although their mode cannot")
    func blocksOfIdleModes() throws {
        let thread = try LoopThread()
        let ran = Count()
        thread.loop.add(Loop.Observer(.entry) { _, _ in Loop.current.stop() }, in: "stubborn")
        thread.perform(in: "stubborn") { ran.up() }
        thread.stop()
        thread.join()
        #expect(ran.value == 1)
    }

    @Test("Joining closes all descriptors of the thread")
    func joinClosesDescriptors() async {
        await #expect(processExitsWith: .success) {
            let before = Kernel.descriptors
            let threads = (0..<100).map { _ in
                let thread = try! LoopThread()
                try! thread.performAndWait {}
                thread.stop()
                thread.join()
                return thread
            }
            // A margin for what the runtime opens for itself: a descriptor leaked by each thread would be a hundred.
            precondition(Kernel.descriptors < before + 20, "\(Kernel.descriptors) \(before)")
            withExtendedLifetime(threads) {}
        }
    }

    @Test("A thread can stop itself")
    func threadStopsItself() throws {
        let thread = try LoopThread()
        thread.perform { thread.stop() }
        thread.join()
    }
}
