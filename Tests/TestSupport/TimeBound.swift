import Foundation

// Missing in statically linked programs, whose build includes all targets except tests.
#if canImport(Testing)
    import Testing
#endif

/// The time limit of each test of a suite, which ends a test that hangs, whatever it waits for: see `TestWatchdog`.
package struct TimeBound: Sendable {
    /// The environment variable that overrides the limit, in seconds; 0 disables it, for debugging.
    package static let variable = "RUNLOOPKIT_TEST_LIMIT"

    /// In seconds. Nearly all tests take less than two by themselves, and the longest twenty; a busy machine can make
    /// that ten times as much, which is not a hang.
    package static let usual = 300

    /// In seconds; nil for none.
    package let limit: Int?

    /// Whether a test waits for its turn: see `TestTurns`.
    let takesTurn: Bool

    /// - Parameter asked: The environment variable's value.
    package init(_ asked: String? = ProcessInfo.processInfo.environment[variable], takesTurn: Bool = true) {
        self.takesTurn = takesTurn
        let seconds = asked.flatMap { Int($0) } ?? Self.usual
        limit = seconds > 0 ? seconds : nil
    }
}

#if canImport(Testing)
    extension TimeBound: SuiteTrait, TestTrait, TestScoping {
        /// Applies to every test in the suite.
        package var isRecursive: Bool { true }

        package func provideScope(
            for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
        ) async throws {
            DescriptorLimit.raise()
            SpawningNeighbour.startIfAsked()
            try await TestTurns.shared.run(atOnce: !takesTurn) {
                guard let limit else { return try await function() }
                let location = test.sourceLocation
                let name = "\(test.name), \(location.fileID):\(location.line)"
                let number = TestWatchdog.shared.begin(name, limit: limit)
                defer { TestWatchdog.shared.end(number) }
                try await function()
            }
        }
    }

    extension Trait where Self == TimeBound {
        /// Ends a test that hangs, and the process with it. Every suite has this trait, which `scripts/check` checks.
        package static var timeBound: Self { TimeBound() }

        /// The same, for a test that takes so long that it begins at once: else it would be the last one to end.
        package static var timeBoundFromTheStart: Self { TimeBound(takesTurn: false) }
    }
#endif
