/// An operation that is performed on a thread of its own. If it is a loop's, outside of the loop's runs.
final class ThreadOperation: OperationSubject {
    typealias Body = (_ count: Int) -> Void

    let name: String
    private let repetitions: Int
    private let state = State()
    private let thread: Responder<ConditionSignal>

    /// What the thread does next. The thread and its caller access it in turn.
    private final class State: @unchecked Sendable {
        var work = {}
        var perform: Body = { _ in }
    }

    /// - Parameters:
    ///   - name: The subject's name in tables.
    ///   - repetitions: How many times the operation is performed where a scenario counts one: for operations that are
    ///     too short to be told in nanoseconds.
    ///   - prepare: Called on the thread. The result performs the operation as often as its parameter says.
    init(_ name: String, repetitions: Int = 1, _ prepare: @escaping @Sendable () throws -> Body) throws {
        self.name = name
        self.repetitions = repetitions
        thread = Responder { [state] in state.work() }
        let state = state
        var failure: (any Error)?
        ask { do { state.perform = try prepare() } catch { failure = error } }
        if let failure { throw failure }
    }

    /// The items are deallocated on their thread, before its loop ends.
    deinit { ask { [state] in state.perform = { _ in } } }

    func measure(_ count: Int) -> Int64 { measure(count, monotonicNow) }

    /// The thread's own time: other programs do not add to it.
    func measureCPUTime(_ count: Int) -> Int64 { measure(count, threadCPUNow) }

    private func measure(_ count: Int, _ now: @escaping () -> Int64) -> Int64 {
        var elapsed: Int64 = 0
        ask { [state, repetitions] in
            let start = now()
            state.perform(count * repetitions)
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
