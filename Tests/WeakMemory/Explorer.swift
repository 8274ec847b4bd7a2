/// What an exploration has found.
package struct Findings {
    /// What the threads returned, one after the other, in every end.
    package var results: Set<[Int]> = []
    /// The first bad end; nil if there is none.
    package var fault: String?
    package var stateCount = 0
    /// The steps to the bad end.
    package var trace: [String] = []
}

extension Program {
    /// How the explorer came to a state: the number of the state before, and which of its successors this one is.
    private struct Step {
        let parent: Int
        let choice: Int
    }

    /// Visits every state that the program can reach, until one is bad: a data race, a failed expectation, a dead end
    /// before all threads have ended, or an end that the check refuses.
    package func explore() -> Findings {
        var findings = Findings()
        var seen: Set<Fingerprint> = []
        var open: [(node: Node, step: Int)] = [(Node(self), -1)]
        var steps: [Step] = []
        while let (node, step) = open.popLast() {
            if node.fault == nil, !seen.insert(Fingerprint(of: node.state)).inserted { continue }
            let successors = node.fault == nil ? self.successors(of: node) : []
            if let fault = fault(of: node, isDeadEnd: successors.isEmpty) {
                findings.fault = fault
                findings.trace = trace(steps, to: step)
                break
            }
            if node.state.isOver { findings.results.insert(Array(node.state.histories.joined())) }
            for (choice, next) in successors.enumerated() {
                steps.append(Step(parent: step, choice: choice))
                open.append((next.node, steps.count - 1))
            }
        }
        findings.stateCount = seen.count
        return findings
    }

    private func successors(of node: Node) -> [(thread: Int, node: Node)] {
        // A plain access needs no other order: what another thread does before cannot change its result, and a race is
        // found by whichever access comes later.
        if let thread = node.next.firstIndex(where: { $0?.isPlain == true }) {
            return node.successors(of: thread, self).map { (thread, $0) }
        }
        return threads.indices.flatMap { thread in node.successors(of: thread, self).map { (thread, $0) } }
    }

    private func fault(of node: Node, isDeadEnd: Bool) -> String? {
        if let fault = node.fault { return fault }
        guard isDeadEnd else { return nil }
        guard node.state.isOver else { return "a thread waits for ever" }
        let isGood = check(Array(node.state.histories.joined())) { node.state.memory.last($0.index) }
        return isGood ? nil : "a bad end"
    }

    /// What the threads did up to a state. Takes the steps once more.
    private func trace(_ steps: [Step], to last: Int) -> [String] {
        var choices: [Int] = []
        var index = last
        while index >= 0 {
            choices.append(steps[index].choice)
            index = steps[index].parent
        }
        var node = Node(self)
        return choices.reversed().map { choice in
            let (thread, next) = successors(of: node)[choice]
            defer { node = next }
            return "\(thread): \(node.next[thread]!) -> \(next.state.histories[thread])"
        }
    }
}
