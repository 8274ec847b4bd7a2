/// Counts the operations: on which kind of item, in which state, called from where.
struct LawCoverage {
    /// The table has each kind apart where an operation is called by a known caller on an item of which only the number
    /// of modes is known. For other states and circumstances it has all kinds together: the kind is nil.
    struct Cell: Hashable, CustomStringConvertible {
        let operation: LawProgram.Operation
        let kind: LawProgram.Kind?
        let state: LawProgram.State
        let context: LawProgram.Context

        var description: String {
            "\(operation) × \(kind.map { "\($0)" } ?? "any kind") × \(state) × from \(context)"
        }

        /// The kinds for which the combination can exist.
        var kinds: [LawProgram.Kind] {
            (kind.map { [$0] } ?? LawProgram.Kind.allCases).filter { absurdity(of: $0) == nil }
        }
    }

    private(set) var counts: [Cell: Int] = [:]

    mutating func count(
        _ operation: LawProgram.Operation, _ kind: LawProgram.Kind, _ states: [LawProgram.State],
        _ contexts: [LawProgram.Context]
    ) {
        for state in states {
            for context in contexts where LawCoverage.isAxis(state, context) {
                let kind = LawCoverage.hasKinds(state, context) ? kind : nil
                counts[Cell(operation: operation, kind: kind, state: state, context: context), default: 0] += 1
            }
        }
    }

    mutating func add(_ other: LawCoverage) { counts.merge(other.counts, uniquingKeysWith: +) }

    private static func hasKinds(_ state: LawProgram.State, _ context: LawProgram.Context) -> Bool {
        (state.modes != nil || !state.isOfItem) && context.isCaller
    }

    /// Whether the table has the combination. What it has for each kind it does not have for all together; and each
    /// caller apart says more than all other items' callouts together.
    private static func isAxis(_ state: LawProgram.State, _ context: LawProgram.Context) -> Bool {
        if hasKinds(state, context) { return true }
        if state == .inItsCallout, context == .own { return false }
        let isAnyOther = context == .another
        let isKnown = context == .main || context == .own
        return state.modes != nil || !state.isOfItem ? !isAnyOther : isAnyOther || isKnown || !context.isCaller
    }

    /// All combinations, always in the same order.
    static let cells: [Cell] = LawProgram.Operation.allCases.flatMap { operation in
        LawProgram.State.allCases.flatMap { state in
            LawProgram.Context.allCases.filter { isAxis(state, $0) }.flatMap { context in
                let kinds: [LawProgram.Kind?] = hasKinds(state, context) ? LawProgram.Kind.allCases : [nil]
                return kinds.map { Cell(operation: operation, kind: $0, state: state, context: context) }
            }
        }
    }.filter { !$0.kinds.isEmpty }

    var missing: [Cell] { LawCoverage.cells.filter { counts[$0] == nil } }

    // MARK: The table

    /// How often each operation was carried out: on each kind, and in each state from each context. `-` stands for what
    /// cannot exist.
    var table: String {
        var lines: [String] = []
        for operation in LawProgram.Operation.allCases {
            let columns = LawProgram.Kind.allCases.compactMap { kind -> String? in
                let count = counts.filter { $0.key.operation == operation && $0.key.kind == kind }.values.reduce(0, +)
                return count == 0 ? nil : "\(kind) \(count)"
            }
            lines.append("\(operation): " + columns.joined(separator: ", "))
            for state in LawProgram.State.allCases {
                if let row = row(operation, state) { lines.append("    \(state): \(row)") }
            }
        }
        lines.append("\(LawCoverage.cells.count) combinations")
        return lines.joined(separator: "\n")
    }

    /// Nil if the operation never finds the state.
    private func row(_ operation: LawProgram.Operation, _ state: LawProgram.State) -> String? {
        let cells = LawCoverage.cells.filter { $0.operation == operation && $0.state == state }
        guard !cells.isEmpty else { return nil }
        return LawProgram.Context.allCases.filter { LawCoverage.isAxis(state, $0) }.map { context in
            let cells = cells.filter { $0.context == context }
            return "\(context) " + (cells.isEmpty ? "-" : "\(cells.map { counts[$0] ?? 0 }.reduce(0, +))")
        }.joined(separator: ", ")
    }
}
