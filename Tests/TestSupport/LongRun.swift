import Foundation

/// The long run, in which tests play more than `swift test` does.
///
/// `RUNLOOPKIT_LONG_TESTS` says how much of it: 1 for all; `scripts/check long` plays a third.
package enum LongRun {
    /// Nil in a plain run.
    private static let share = ProcessInfo.processInfo.environment["RUNLOOPKIT_LONG_TESTS"].map { Double($0) ?? 1 }

    package static var isOn: Bool { share != nil }

    /// The share of `whole` that is to be played, but at least `plain`.
    package static func count(_ whole: Int, plain: Int) -> Int { max(1, plain, Int(Double(whole) * (share ?? 0))) }
}
