import Operations
import RunLoopKit

/// An operation that is performed on a thread of its own, outside of the runs of that thread's loop.
final class LoopOperation: OperationSubject {
    let name: String
    private let state = State()
    private let thread: Responder<ConditionSignal>

    /// What the thread does next. The thread and its caller access it in turn.
    private final class State: @unchecked Sendable {
        var work = {}
        var perform: (Int) -> Void = { _ in }
    }

    /// - Parameter name: What tables call it; nil for the operation's own name.
    init(_ operation: Operation, named name: String? = nil) throws {
        self.name = name ?? operation.name
        thread = Responder { [state] in state.work() }
        let state = state
        var failure: (any Error)?
        ask { do { state.perform = try operation.prepare(.current) } catch { failure = error } }
        if let failure { throw failure }
    }

    /// The items are deallocated on their thread, before its loop ends.
    deinit { ask { [state] in state.perform = { _ in } } }

    func measure(_ count: Int) -> Int64 { measure(count, monotonicNow) }

    /// The thread's own time: other programs do not add to it.
    func measureCPUTime(_ count: Int) -> Int64 { measure(count, threadCPUNow) }

    private func measure(_ count: Int, _ now: @escaping () -> Int64) -> Int64 {
        var elapsed: Int64 = 0
        ask { [state] in
            let start = now()
            state.perform(count)
            elapsed = now() - start
        }
        return elapsed
    }

    private func ask(_ work: @escaping () -> Void) {
        state.work = work
        thread.ask()
        state.work = {}
    }
}
