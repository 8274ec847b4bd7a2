import Operations
import RunLoopKit

/// Performs one operation many times, for `scripts/instruction-counts`, which counts the instructions.
///
/// `InstructionCounts` lists the operations, one a line: its name, and how many times it is performed while it is
/// counted. `InstructionCounts NAME` performs one.
@main
enum InstructionCounts {
    /// A constant cost is the same among few items and among many.
    static let operations =
        Operation.all
        + GrowingOperation.all.flatMap { operation in [0, 1].map { operation.sized(operation.sizes[$0]) } }

    // Not async: the operations are performed on the main loop, outside of its runs.
    static func main() throws {
        switch CommandLine.arguments.dropFirst().first {
        case nil:
            for operation in operations { print(operation.name, operation.count) }
        case let name?:
            let operation = Operation.named(name)
            let body = try operation.prepare(.current)
            // Binds symbols, makes metadata, lets buffers grow.
            body(operation.count / 2)
            measured = { body(operation.count) }
            performMeasured()
        }
    }
}

/// What `performMeasured` performs. Used on the initial thread only.
nonisolated(unsafe) private var measured = {}

/// The instructions of this function and of those that it calls are counted. `scripts/instruction-counts` finds it by
/// its name.
@inline(never)
private func performMeasured() { measured() }
