import Dispatch
import Operations
import RunLoopKit

/// Performs one operation many times, for `scripts/instruction-counts`, which counts the instructions.
///
/// `InstructionCounts` lists the operations, one a line: its name, and how many times it is performed while it is
/// counted. `InstructionCounts NAME` performs one, on the main loop. Some are performed on the loop of another thread
/// as well: it has no main queue to look at in every pass.
@main
enum InstructionCounts {
    /// A constant cost is the same among few items and among many.
    private static let operations =
        Operation.all.map { ($0.name, $0) } + onThread
        + GrowingOperation.all.flatMap { operation in [0, 1].map { operation.sized(operation.sizes[$0]) } }
        .map { ($0.name, $0) }

    private static let onThread = [
        "pass", "run-for-zero", "post-and-run", "source0-and-run", "port-and-run", "ready-pipes@100",
        "ready-lent-pipes@100",
    ].map { (name: $0 + threadSuffix, operation: Operation.named($0)) }

    private static let threadSuffix = "-on-thread"

    // Not async: the operations are performed on the main loop, outside of its runs.
    static func main() throws {
        guard let name = CommandLine.arguments.dropFirst().first else {
            for (name, operation) in operations { print(name, operation.count) }
            return
        }
        guard let (_, operation) = onThread.first(where: { $0.name == name }) else { return try count(.named(name)) }
        let isDone = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            do { try count(operation) } catch { fatalError("\(error)") }
            isDone.signal()
        }
        isDone.wait()
    }

    /// Performs an operation on the calling thread's loop.
    private static func count(_ operation: Operation) throws {
        let body = try operation.prepare(.current)
        // Binds symbols, makes metadata, lets buffers grow.
        body(operation.count / 2)
        measured = { body(operation.count) }
        performMeasured()
    }
}

/// What `performMeasured` performs. Used on one thread.
nonisolated(unsafe) private var measured = {}

/// The instructions of this function and of those that it calls are counted. `scripts/instruction-counts` finds it by
/// its name.
@inline(never)
private func performMeasured() { measured() }
