// A detector whose label belongs to the main actor. As in MainActorHandlers.swift, a call of it checks nothing.

import RunLoopKit

extension FeedbackLoopDetector {
    /// Makes a detector on `Loop.main` whose label belongs to the main actor, and may touch its state.
    ///
    /// ```swift
    /// @MainActor final class Panel { var title = "" }
    ///
    /// let detector = FeedbackLoopDetector(isolation: .shared) { ($0 as? Panel)?.title }
    /// ```
    ///
    /// - Parameters:
    ///   - threshold: The number of calls to one object, of one name and within one pass, at which to report it.
    ///   - typeThreshold: The same for all objects of one type together; ten times `threshold` by default.
    ///   - backtraceDepth: The number of return addresses to record for each of the last callers. Zero: none.
    ///   - actions: What to do when something reaches a threshold, in this order.
    ///   - mainActor: `.shared`.
    ///   - label: The name of an object in reports; nil for the name of its type. Called on the main thread, when an
    ///     object is first counted in a pass, except from the object's `deinit`.
    /// - Precondition: The thresholds are positive, and `backtraceDepth` is not negative.
    public convenience init(
        threshold: Int = defaultThreshold, typeThreshold: Int? = nil, backtraceDepth: Int = 0,
        actions: [Action] = [.log], isolation mainActor: MainActor,
        label: @escaping @MainActor (_ object: AnyObject) -> String?
    ) {
        self.init(
            on: .main, threshold: threshold, typeThreshold: typeThreshold, backtraceDepth: backtraceDepth,
            actions: actions, label: unsafeBitCast(label, to: (@Sendable (AnyObject) -> String?).self))
    }
}
