/// Counts the operations: on which kind of item, in how many modes, called from where.
struct LawCoverage {
    struct Cell: Hashable, CustomStringConvertible {
        let operation: LawProgram.Operation
        let kind: LawProgram.Kind
        /// 3 stands for three or more.
        let modes: Int
        let context: LawProgram.Context

        var description: String { "\(operation) × \(kind) × \(modes) modes × from \(context)" }

        /// The reason why the combination cannot exist; nil if it can.
        var absurdity: String? {
            switch operation {
            case .trigger where kind == .observer || kind.isTimer:
                return "nothing can be sent to it; what a timer has instead is `retime`"
            case .rearm where !kind.canBeArmed, .disarm where !kind.canBeArmed:
                return "it cannot be disarmed"
            case .changeInterest where !kind.isDescriptor: return "it has no interest"
            case .takeWaiting where kind != .messagePort: return "it has no messages"
            case .retime where !kind.isTimer: return "it has no time"
            case _ where operation.concernsLoop && modes == 0:
                return "an operation of a loop concerns the items in it"
            default: break
            }
            if context == .own, kind.isProcess, modes > 0 {
                return "a process source is invalid before its callout, and so in no mode"
            }
            return nil
        }
    }

    private(set) var counts: [Cell: Int] = [:]

    mutating func count(
        _ operation: LawProgram.Operation, _ kind: LawProgram.Kind, modes: Int, from context: LawProgram.Context
    ) {
        counts[Cell(operation: operation, kind: kind, modes: min(modes, 3), context: context), default: 0] += 1
    }

    mutating func add(_ other: LawCoverage) { counts.merge(other.counts, uniquingKeysWith: +) }

    /// All combinations, always in the same order.
    static let cells: [Cell] = LawProgram.Operation.allCases.flatMap { operation in
        LawProgram.Kind.allCases.flatMap { kind in
            (0...3).flatMap { modes in
                LawProgram.Context.allCases.map {
                    Cell(operation: operation, kind: kind, modes: modes, context: $0)
                }
            }
        }
    }.filter { $0.absurdity == nil }

    var missing: [Cell] { LawCoverage.cells.filter { counts[$0] == nil } }

    /// How often each operation was carried out on each kind.
    var table: String {
        var lines: [String] = []
        for operation in LawProgram.Operation.allCases {
            let columns = LawProgram.Kind.allCases.map { kind in
                let all = counts.filter { $0.key.operation == operation && $0.key.kind == kind }.values
                return "\(kind) \(all.reduce(0, +))"
            }
            lines.append("\(operation): " + columns.joined(separator: ", "))
        }
        return lines.joined(separator: "\n")
    }
}

extension LawProgram.Kind {
    /// Of a connection: whether it receives.
    var canBeArmed: Bool { isDescriptor || self == .messagePort || self == .connection }
}
