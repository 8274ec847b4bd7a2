import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// The waits of a task for what a loop puts into a buffer, on a loop in virtual time: what has not ended when the loop
/// has nothing left to do, waits.
@Suite(.timeBound) struct SequenceBufferTests {
    private let buffer = SequenceBuffer<Int>(capacity: 2) { $0 += $1 }

    /// Makes a task wait `count` times, and runs it as far as it comes. Returns the number of waits that have ended.
    private func waitsThatEnd(of count: Int, meanwhile body: () -> Void = {}) -> Int {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let ended = Count()
        Task(executorPreference: loop.taskExecutor) { [buffer] in
            for _ in 0..<count {
                await buffer.wait()
                ended.up()
            }
        }
        loop.run(mode: .default, for: .zero)
        body()
        loop.run(mode: .default, for: .zero)
        defer { buffer.finish() }
        return ended.value
    }

    @Test("A wake-up before the task waits ends its next wait, and no further one")
    func wakeBeforeTheWait() {
        buffer.wake()
        buffer.wake()
        #expect(waitsThatEnd(of: 2) == 1)
    }

    @Test("A wake-up while the task waits ends this wait, and no further one")
    func wakeDuringTheWait() {
        #expect(waitsThatEnd(of: 2) { buffer.wake() } == 1)
    }

    @Test("A task does not wait while there are elements")
    func elements() {
        #expect(waitsThatEnd(of: 1) == 0)
        let full = SequenceBufferTests()
        full.buffer.put(1)
        #expect(full.waitsThatEnd(of: 5) == 5)
    }

    @Test("A full buffer merges the oldest element into the next one")
    func loss() {
        for element in [1, 10, 100, 1_000] { buffer.put(element) }
        #expect([buffer.takeFirst(), buffer.takeFirst(), buffer.takeFirst()] == [111, 1_000, nil])
    }
}
