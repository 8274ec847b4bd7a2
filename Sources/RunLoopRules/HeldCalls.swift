import RunLoopKit

/// The calls that a rule in the modes `last` and `debounce` delays: a limiter, and the window that it was made for.
///
/// A class, not a protocol: a rule compares windows at every call.
@usableFromInline
class HeldCalls: @unchecked Sendable {
    final let window: AnyMethodRule.Settings.Window

    /// Whether it is a `MergedCalls`, not a `DelayedCall`.
    @usableFromInline final let merges: Bool

    init(_ window: AnyMethodRule.Settings.Window, merges: Bool) { (self.window, self.merges) = (window, merges) }

    /// Reports it if its loop can never run. Called without a lock, after it was made with the book's.
    func reportIfMainIsGone() {}

    /// Runs the delayed calls, on the rule's loop. Returns whether there were any and the loop accepted them.
    @discardableResult
    func flush() -> Bool { false }

    /// Whether a call is delayed.
    var isPending: Bool { false }

    /// Whether a call on the target is delayed. Called with the book's lock held.
    func isPending(on target: ObjectIdentifier) -> Bool { false }

    /// A call under changed settings has come, which this limiter does not get. Called without a lock.
    func giveWay() {}
}
