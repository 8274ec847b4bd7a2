import LoopTestSupport

@testable import RunLoopKit

/// Runs a test on a thread whose loop it may use freely.
func onThreadOfItsOwn(_ body: @escaping @Sendable () throws -> Void) throws {
    let failure = Log<any Error>()
    let thread = try System.startThread(stackSize: nil) {
        do { try body() } catch { failure.add(error) }
    }
    System.join(thread)
    if let error = failure.entries.first { throw error }
}
