/// A state of a program: the memory, and how far each thread is.
struct State: Hashable {
    enum Stage: Hashable {
        case runs
        case sleeps(Location)
        case ended
    }

    var memory: Memory
    /// The results of each thread's operations; at its end, what it has returned.
    var histories: [[Int]]
    var stages: [Stage]

    var isOver: Bool { stages.allSatisfy { $0 == .ended } }
}

/// A state, and what each thread does next.
struct Node {
    var state: State
    var next: [Operation?]
    /// Set if the state is a bad one.
    var fault: String?

    init(_ program: Program) {
        let count = program.threads.count
        let memory = Memory(
            atomics: program.atomics, plains: program.plains, threads: count, hasFences: program.hasFences)
        state = State(
            memory: memory, histories: Array(repeating: [], count: count),
            stages: Array(repeating: .runs, count: count))
        next = Array(repeating: nil, count: count)
        for thread in 0..<count { replay(thread, program) }
        state.memory.forget { [stages = state.stages] in stages[$0] != .ended }
    }

    /// Runs the thread up to its next operation.
    private mutating func replay(_ thread: Int, _ program: Program) {
        let replayed = ModelThread(state.histories[thread])
        let result = program.threads[thread](replayed)
        next[thread] = replayed.next
        if replayed.next == nil {
            state.histories[thread] = result
            state.stages[thread] = .ended
        } else {
            state.histories[thread] = replayed.history
            state.stages[thread] = .runs
        }
    }

    /// The state after a step of a thread, which had this result.
    func after(_ thread: Int, _ result: Int, _ program: Program, _ change: (inout Memory) -> Void) -> Node {
        var node = self
        change(&node.state.memory)
        node.finish([thread], result, program)
        return node
    }

    /// Gives threads the results of their operations.
    mutating func finish(_ threads: [Int], _ result: Int, _ program: Program) {
        for thread in threads {
            state.histories[thread].append(result)
            replay(thread, program)
        }
        state.memory.forget { [stages = state.stages] in stages[$0] != .ended }
    }

    func failing(_ text: String) -> Node {
        var node = self
        node.fault = text
        return node
    }
}
