import Foundation
import RunLoopKit

/// A thread with a loop is started, stopped and joined.
struct ThreadStart: Scenario {
    let name = "thread-start"
    let summary = "A thread with a loop is started, stopped and joined, beside a thread without one."

    func run(_ effort: Effort) throws -> Outcome {
        let effort = effort.short
        let subjects: [any OperationSubject] = [PlainThreads(), LoopThreads(), FoundationThreads(), CFThreads()]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) threads",
            rows: subjects.measured(name, effort), bare: "pthread")
    }
}

private final class PlainThreads: OperationSubject {
    let name = "pthread"

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for _ in 0..<count { PlainThread {}.join() }
        return monotonicNow() - start
    }
}

private final class LoopThreads: OperationSubject {
    let name = Outcome.kit

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for _ in 0..<count {
            let thread = try! LoopThread(name: "short")
            thread.stop()
            thread.join()
        }
        return monotonicNow() - start
    }
}

/// It has no join: the thread says when its body ends.
private final class FoundationThreads: OperationSubject {
    let name = "Foundation.Thread"

    func measure(_ count: Int) -> Int64 {
        let isOver = DispatchSemaphore(value: 0)
        let start = monotonicNow()
        for _ in 0..<count {
            let thread = Thread { isOver.signal() }
            thread.start()
            isOver.wait()
        }
        return monotonicNow() - start
    }
}

private final class CFThreads: OperationSubject {
    let name = "CFRunLoop"

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        // Its deinit stops and joins it.
        for _ in 0..<count { _ = CFThread() }
        return monotonicNow() - start
    }
}
