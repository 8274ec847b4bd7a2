import Operations
import RunLoopKit

extension ThreadOperation {
    /// An operation of the thread's loop.
    convenience init(_ name: String, _ operation: Operation, repetitions: Int = 1) throws {
        try self.init(name, repetitions: repetitions) { try operation.prepare(.current) }
    }
}
