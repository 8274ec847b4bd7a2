import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Loops of tasks' threads that no thread runs are reported. Most tests have a process of their own, as in
/// `MistakeTests`.
@Suite(.timeBound) struct UnrunLoopTests {
    @Test(
        "A limiter on the loop of a task's thread, which nobody runs, is reported after a while; one that runs is not")
    func loopThatNeverRuns() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let start = System.monotonicNanoseconds()
            let debounce = await Task.detached {
                let debounce = Debounce<Int>(interval: .milliseconds(1), label: "save") { _ in }
                debounce(1)
                return debounce
            }.value
            let thread = try LoopThread(name: "runs")
            thread.perform {}
            UnrunLoops.shared.check(at: start + UnrunLoops.patience - 1)
            let isQuiet = mistakes.entries == []
            // The watching thread may have reported it if the machine is that slow.
            #expect(isQuiet || System.monotonicNanoseconds() - start >= UnrunLoops.patience)
            UnrunLoops.shared.check(at: System.monotonicNanoseconds() + UnrunLoops.patience)
            #expect(mistakes.entries == [.loopThatNeverRuns(item: "debounce timer \"save\"")])
            #expect(mistakes.entries.map(\.description).allSatisfy { $0.contains("Loop.runMain { … }") })
            withExtendedLifetime(debounce) {}
            _exit(0)
        }
    }

    @Test("The loop of a thread that is no task's is not watched")
    func otherThread() throws {
        try onThreadOfItsOwn {
            Loop.current.perform {}
            let isWatched = Loop.current.isWatchedAsUnrun.load(ordering: .relaxed)
            #expect(!isWatched)
        }
    }

    @Test("A thread that cannot be started is started by the next loop that has work")
    func retriedThread() throws {
        let starts = Count()
        let loops = (0..<3).map { _ in Loop(clock: VirtualClock()) }
        let unrun = UnrunLoops { _ throws(LoopError) in
            starts.up()
            guard starts.value > 1 else { throw LoopError(call: "pthread_create", code: EAGAIN) }
            return try System.startThread(stackSize: nil) {}
        }
        for (loop, count) in zip(loops, [1, 2, 2]) {
            unrun.watch(loop, for: "a timer")
            #expect(starts.value == count)
        }
    }

    @Test("The loop of a task's thread that runs in time is not reported")
    func loopThatRunsInTime() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            await Task.detached {
                Loop.current.perform {}
                Loop.current.run(mode: .default, for: .zero)
                UnrunLoops.shared.check(at: .max)
            }.value
            #expect(mistakes.entries == [])
        }
    }

    @Test("A loop that has ended before it was due to run is not reported")
    func loopThatHasEnded() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let (loop, _) = Loop.inVirtualTime()
            let loops = UnrunLoops()
            loops.watch(loop, for: "block")
            loop.end()
            loops.check(at: .max)
            #expect(mistakes.entries == [])
            _exit(0)
        }
    }

    @Test("A limiter's call is reported when it has been due for two seconds, not one that has moved or is gone")
    func callThatWaits() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let loop = Loop(clock: .monotonic, owner: ThreadLoops.currentID)
            let (now, hour) = (System.monotonicNanoseconds(), Int64(3_600_000_000_000))
            let timer = Loop.Timer(at: Loop.Instant(nanoseconds: now + hour)) { _ in }
            loop.add(timer)
            let loops = UnrunLoops { _ throws(LoopError) in try System.startThread(stackSize: nil) {} }
            loops.watch(loop, for: "debounce", timer: timer)
            loops.check(at: now + hour)
            timer.nextFireTime = Loop.Instant(nanoseconds: now + 2 * hour)
            loops.check(at: now + hour + UnrunLoops.patience)
            #expect(mistakes.entries == [])
            loops.check(at: now + 2 * hour + UnrunLoops.patience)
            #expect(mistakes.entries == [.loopThatNeverRuns(item: "debounce")])

            loops.watch(loop, for: "throttle", timer: timer)
            timer.nextFireTime = nil
            loop.isWatchedAsUnrun.store(true, ordering: .relaxed)
            loops.check(at: .max)
            #expect(mistakes.entries.count == 1 && !loop.isWatchedAsUnrun.load(ordering: .relaxed))
            _exit(0)
        }
    }

    @Test("The thread that looks for loops that never run reports by itself")
    func watchingThread() async {
        await #expect(processExitsWith: .success) {
            let isReported = Gate()
            Loop.mistakeHandling = .call { mistake in
                if mistake == .loopThatNeverRuns(item: "block") { isReported.open() }
            }
            await Task.detached { _ = Loop.current.perform {} }.value
            isReported.wait()
            _exit(0)
        }
    }
}
