import Foundation

// Not there for statically linked programs, which are built with all targets of the package but tests.
#if canImport(Testing)
    import Testing
#endif

/// The time limit of each test of a suite, which ends a test that hangs whatever it waits for: see `TestWatchdog`.
package struct TimeBound: Sendable {
    /// The environment variable with another limit in seconds; 0 for none, for those who debug.
    package static let variable = "RUNLOOPKIT_TEST_LIMIT"

    /// In seconds. Tests take less than two by themselves; a machine that is busy with other things makes that ten times
    /// as much, and must not be taken for a hang.
    package static let usual = 120

    /// In seconds; nil for none.
    package let limit: Int?

    /// - Parameter asked: What the environment says.
    package init(_ asked: String? = ProcessInfo.processInfo.environment[variable]) {
        let seconds = asked.flatMap { Int($0) } ?? Self.usual
        limit = seconds > 0 ? seconds : nil
    }
}

#if canImport(Testing)
    extension TimeBound: SuiteTrait, TestTrait, TestScoping {
        /// For every test in the suite.
        package var isRecursive: Bool { true }

        package func provideScope(
            for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
        ) async throws {
            guard let limit else { return try await function() }
            let location = test.sourceLocation
            let number = TestWatchdog.shared.begin("\(test.name), \(location.fileID):\(location.line)", limit: limit)
            defer { TestWatchdog.shared.end(number) }
            try await function()
        }
    }

    extension Trait where Self == TimeBound {
        /// Ends a test that hangs, and the process with it. Every suite has this: `.ci/run` looks.
        package static var timeBound: Self { TimeBound() }
    }
#endif
