/// Shows results, for people or for programs.
protocol ReplayWriter {
    /// Above the first scenario.
    var beginning: String { get }

    func text(of scenario: Scenario, _ invocations: [Rehearsal.Invocation]) -> String

    /// Below everything.
    func end(_ totals: ReplayTotals) -> String
}

/// The format of recorded results: an object on each line, without blanks.
struct JSONReplayWriter: ReplayWriter {
    let beginning = ""

    func text(of scenario: Scenario, _ invocations: [Rehearsal.Invocation]) -> String {
        let pairs = invocations.map { "[\($0.time),\($0.argument)]" }
        return "{\"id\":\(scenario.id),\"invocations\":[\(pairs.joined(separator: ","))]}\n"
    }

    func end(_ totals: ReplayTotals) -> String { "" }
}

/// Three lines for each scenario: the policy and the counts, the operations, the actions.
struct TextReplayWriter: ReplayWriter {
    let width: Int
    let usesColour: Bool

    var beginning: String {
        let lines = [
            "Each scenario is played on the library's own limiters, in virtual time.",
            "7@32 is the argument 7 at 32 ms.",
        ]
        return lines.flatMap { $0.wrapped(to: width) }.joined(separator: "\n") + "\n\n"
    }

    func text(of scenario: Scenario, _ invocations: [Rehearsal.Invocation]) -> String {
        var totals = ReplayTotals()
        totals.add(scenario, invocations)
        return """
            \(heading("#\(scenario.id)  \(scenario.policy): \(totals.actionsForCalls)"))
                came   \(list(scenario.operations.lazy.map(\.text)))
                acted  \(list(invocations.lazy.map(\.text)))

            """
    }

    func end(_ totals: ReplayTotals) -> String {
        let scenarios = "\(totals.scenarios.grouped) \(totals.scenarios == 1 ? "scenario" : "scenarios")"
        guard totals.scenarios > 0 else { return "No scenario in the input.\n" }
        return "\n" + heading("\(scenarios): \(totals.counts).") + "\n"
    }

    /// As many as fit into a line.
    private func list(_ events: some Collection<String>) -> String {
        guard !events.isEmpty else { return "-" }
        // Less the indentation. Narrower than this, there would be little to see.
        let room = max(16, width - 11)
        var line = ""
        for (index, event) in events.enumerated() {
            let rest = events.count - index
            let isLast = rest == 1
            guard line.count + 2 + event.count + (isLast ? 0 : ", and \(rest) more".count) <= room else {
                return index == 0 ? "\(rest) in all" : "\(line), and \(rest) more"
            }
            line += (line.isEmpty ? "" : "  ") + event
        }
        return line
    }

    private func heading(_ text: String) -> String {
        text.wrapped(to: width).map { usesColour ? TextStyle.bold.applied(to: $0) : $0 }.joined(separator: "\n")
    }
}

extension Scenario {
    /// Such as `throttle 10 ms, both edges`.
    fileprivate var policy: String {
        let edges =
            switch (leading, trailing) {
            case (true, true): "both edges"
            case (true, false): "leading"
            case (false, true): "trailing"
            case (false, false): "no edges"
            }
        return "\(kind.rawValue) \(wait) ms, \(edges)" + (maxWait.map { ", maxWait \($0) ms" } ?? "")
    }
}

extension Scenario.Operation {
    fileprivate var text: String {
        switch event {
        case .call(let argument): "\(argument)@\(time)"
        case .flush: "flush@\(time)"
        case .cancel: "cancel@\(time)"
        }
    }
}

extension Rehearsal.Invocation {
    fileprivate var text: String { "\(argument)@\(time)" }
}

extension ReplayTotals {
    /// Such as `3 actions for 12 calls`.
    fileprivate var actionsForCalls: String { counted(actions, "action") + " for " + counted(calls, "call") }

    /// Such as `3 actions for 12 calls, 1 flush, 2 cancels`.
    fileprivate var counts: String {
        var parts = [actionsForCalls]
        if flushes > 0 { parts.append(counted(flushes, "flush", "flushes")) }
        if cancels > 0 { parts.append(counted(cancels, "cancel")) }
        return parts.joined(separator: ", ")
    }

    private func counted(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(number.grouped) \(number == 1 ? noun : plural ?? noun + "s")"
    }
}
