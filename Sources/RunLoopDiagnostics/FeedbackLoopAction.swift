import RunLoopKit

extension FeedbackLoopDetector {
    /// What a detector does when something reaches its threshold.
    public enum Action: Sendable {
        /// Writes the report to stderr, as one message.
        case log

        /// Calls a handler on the loop's thread, before the call that reached the threshold is made, with no lock held.
        case call(@Sendable (_ report: Report) -> Void)

        /// Ends the process with the report as the message, in debug builds, so that a debugger or a backtrace shows
        /// the cycle's frames. In release builds it logs.
        case trap

        /// Breaks the cycle: calls of the name to the object are not made for the rest of the pass, from the one that
        /// reached the threshold on. If a type reached its threshold, the same for all objects of the type.
        ///
        /// A ``FeedbackLoopDetector/count(_:_:cause:file:line:)`` then returns false. A loop that repeats until the
        /// dropped call has done its work still never ends: it must check the result.
        case dropCalls

        var dropsCalls: Bool { if case .dropCalls = self { true } else { false } }

        func perform(_ report: Report) {
            switch self {
            case .log: System.complain("RunLoopKit: \(report)")
            case .call(let handler): handler(report)
            case .trap:
                #if DEBUG
                    fatalError("RunLoopKit: \(report)")
                #else
                    System.complain("RunLoopKit: \(report)")
                #endif
            case .dropCalls: break
            }
        }
    }
}
