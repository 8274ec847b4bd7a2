extension Node {
    /// The states that may follow when a thread takes its next step; none if it waits.
    func successors(of thread: Int, _ program: Program) -> [Node] {
        guard state.stages[thread] == .runs, let operation = next[thread] else { return [] }
        let memory = state.memory
        switch operation {
        case .load(let location, let order):
            return memory.readable(location.index, by: thread, order).map { message in
                read(location, message, thread, order, program)
            }
        case .store(let location, let value, let order):
            return memory.placesForStore(location.index, by: thread, order).map { place in
                after(thread, 0, program) { $0.write(location.index, value, at: place, by: thread, order) }
            }
        case .modify(let location, let order, let change):
            return changeable(location, thread, order).map { message in
                modify(location, message, thread, order, program, change)
            }
        case .compareExchange(let location, let expected, let desired, let order, let failure, let isWeak):
            return compareExchange(
                location, expected, desired, (success: order, failure: failure), isWeak, thread, program)
        case .fence(let order): return [after(thread, 0, program) { $0.fence(by: thread, order) }]
        case .read(let plain): return [readPlainly(plain, thread, program)]
        case .write(let plain, let value): return [writePlainly(plain, value, thread, program)]
        case .waitInKernel(let location, let order, let condition, let change):
            let message = memory.messages[location.index].count - 1
            guard condition(memory.last(location.index)) else { return [] }
            return [modify(location, message, thread, order, program, change)]
        case .loadLast(let location):
            return [read(location, memory.messages[location.index].count - 1, thread, .relaxed, program)]
        case .sleep(let location, let value): return sleep(location, value, thread, program)
        case .wake(let location, let all): return wake(location, all, thread, program)
        case .awaitOthers:
            let othersHaveEnded = state.stages.indices.allSatisfy { $0 == thread || state.stages[$0] == .ended }
            return othersHaveEnded ? [after(thread, 0, program) { _ in }] : []
        case .choose(let count): return (0..<count).map { after(thread, $0, program) { _ in } }
        case .fail(let text): return [failing(text)]
        }
    }

    private func read(
        _ location: Location, _ message: Int, _ thread: Int, _ order: Order, _ program: Program,
        _ result: ((Int) -> Int)? = nil
    ) -> Node {
        let value = state.memory.messages[location.index][message].value
        return after(thread, result?(value) ?? value, program) {
            $0.read(location.index, message: message, by: thread, order)
        }
    }

    private func changeable(_ location: Location, _ thread: Int, _ order: Order) -> [Int] {
        state.memory.readable(location.index, by: thread, order).filter {
            state.memory.isChangeable(location.index, message: $0)
        }
    }

    private func modify(
        _ location: Location, _ message: Int, _ thread: Int, _ order: Order, _ program: Program,
        _ change: (Int) -> Int, _ result: ((Int) -> Int)? = nil
    ) -> Node {
        let old = state.memory.messages[location.index][message].value
        return after(thread, result?(old) ?? old, program) {
            $0.modify(location.index, message: message, to: change(old), by: thread, order)
        }
    }

    private func compareExchange(
        _ location: Location, _ expected: Int, _ desired: Int, _ orders: (success: Order, failure: Order),
        _ isWeak: Bool, _ thread: Int, _ program: Program
    ) -> [Node] {
        let messages = state.memory.messages[location.index]
        let successes = changeable(location, thread, orders.success).filter { messages[$0].value == expected }
        let failures = state.memory.readable(location.index, by: thread, orders.failure).filter {
            isWeak || messages[$0].value != expected
        }
        return successes.map { message in
            modify(location, message, thread, orders.success, program, { _ in desired }, { $0 << 1 | 1 })
        } + failures.map { message in read(location, message, thread, orders.failure, program) { $0 << 1 } }
    }

    // MARK: Plain accesses

    private func readPlainly(_ plain: Plain, _ thread: Int, _ program: Program) -> Node {
        var memory = state.memory
        guard let value = memory.read(plain.index, by: thread) else { return failing(race(plain, program)) }
        return after(thread, value, program) { $0 = memory }
    }

    private func writePlainly(_ plain: Plain, _ value: Int, _ thread: Int, _ program: Program) -> Node {
        var memory = state.memory
        guard memory.write(plain.index, value, by: thread) else { return failing(race(plain, program)) }
        return after(thread, 0, program) { $0 = memory }
    }

    private func race(_ plain: Plain, _ program: Program) -> String { "data race: \(program.names[plain.index])" }

    // MARK: Words that threads wait for

    /// The kernel compares the word with a lock held, under which it also wakes. So it sees the word at least as the
    /// last thread did that woke others, or went to sleep. Nothing else is ordered by this.
    private func sleep(_ location: Location, _ value: Int, _ thread: Int, _ program: Program) -> [Node] {
        let index = location.index
        let first = max(state.memory.views[thread][index], state.memory.kernel[index])
        return (first..<state.memory.messages[index].count).map { message in
            var node = self
            node.state.memory.read(index, message: message, by: thread, .relaxed)
            node.state.memory.kernel[index] = message
            if state.memory.messages[index][message].value == value {
                node.state.stages[thread] = .sleeps(location)
            } else {
                node.finish([thread], 0, program)
            }
            return node
        }
    }

    private func wake(_ location: Location, _ all: Bool, _ thread: Int, _ program: Program) -> [Node] {
        let sleepers = state.stages.indices.filter { state.stages[$0] == .sleeps(location) }
        let choices: [[Int]] = all || sleepers.isEmpty ? [sleepers] : sleepers.map { [$0] }
        return choices.map { woken in
            var node = self
            let seen = state.memory.views[thread][location.index]
            node.state.memory.kernel[location.index] = max(node.state.memory.kernel[location.index], seen)
            node.finish(woken, 1, program)
            node.finish([thread], 0, program)
            return node
        }
    }
}
