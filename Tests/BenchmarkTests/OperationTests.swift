import Operations
import RunLoopKit
import TestSupport
import Testing

@testable import RunLoopBenchmarks

/// What is measured works.
@Suite(.timeBound) struct OperationTests {
    private static let names =
        Operation.all.map(\.name)
        + GrowingOperation.all.flatMap { operation in [3, 50].map { "\(operation.name)@\($0)" } }

    @Test("Each operation is performed on a thread of its own", arguments: names)
    func perform(_ name: String) throws {
        let operation = try ThreadOperation(name, .named(name))
        #expect(operation.measure(3) >= 0)
        #expect(operation.measureCPUTime(3) > 0)
    }

    @Test("Names are unique")
    func uniqueNames() { #expect(Set(OperationTests.names).count == OperationTests.names.count) }
}
