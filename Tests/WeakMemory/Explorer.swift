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
    /// Visits every state that the program can reach, until one is bad: a data race, a failed expectation, a dead end
    /// before all threads have ended, or an end that the check refuses.
    package func explore() -> Findings {
        var findings = Findings()
        var seen: Set<State> = []
        var open: [(node: Node, parent: Int)] = [(Node(self), -1)]
        var steps: [(parent: Int, text: () -> String)] = []
        while let (node, parent) = open.popLast() {
            if node.fault == nil, !seen.insert(node.state).inserted { continue }
            let successors = node.fault == nil ? self.successors(of: node) : []
            if let fault = fault(of: node, isDeadEnd: successors.isEmpty) {
                findings.fault = fault
                findings.trace = trace(steps, to: parent)
                break
            }
            if node.state.isOver { findings.results.insert(Array(node.state.histories.joined())) }
            for (thread, next) in successors {
                steps.append((parent, { "\(thread): \(node.next[thread]!) -> \(next.state.histories[thread])" }))
                open.append((next, steps.count - 1))
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

    private func trace(_ steps: [(parent: Int, text: () -> String)], to last: Int) -> [String] {
        var texts: [String] = []
        var index = last
        while index >= 0 {
            texts.append(steps[index].text())
            index = steps[index].parent
        }
        return texts.reversed()
    }
}
