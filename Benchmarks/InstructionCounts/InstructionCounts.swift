import RunLoopKit

/// Performs one operation many times, for `scripts/instruction-counts`, which counts the instructions.
///
/// `InstructionCounts` lists the operations, one a line: its name, and how many times it is performed while it is
/// counted. `InstructionCounts NAME` performs one.
@main
enum InstructionCounts {
    static let operations =
        Operation.passes + Operation.inputs + Operation.timers + Operation.limiters + Operation.rules
        + Operation.jobs + Operation.growth

    // Not async: the operations are performed on the main loop, outside of its runs.
    static func main() throws {
        switch CommandLine.arguments.dropFirst().first {
        case nil:
            for operation in operations { print(operation.name, operation.count) }
        case let name?:
            guard let operation = operations.first(where: { $0.name == name }) else {
                fatalError("unknown operation \(name.debugDescription)")
            }
            try operation.perform()
        }
    }
}
