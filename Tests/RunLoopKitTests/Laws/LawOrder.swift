@testable import RunLoopKit

/// The law of observers: those of one activity are called by order, and those of equal order as they have joined.
///
/// A notification is one activity of one run. Each loop has an observer that comes first in it.
struct LawOrder {
    private var last: (order: Int, joined: Int)?
    /// What has joined since the notification began has another place in the next one.
    private var beginning = 0

    mutating func begin(after joins: Int) { (last, beginning) = (nil, joins) }

    /// Returns false if the observer should have been called before the last one.
    mutating func allows(_ order: Int, joined: Int) -> Bool {
        guard joined <= beginning else { return true }
        defer { last = (order, joined) }
        return last.map { $0 < (order, joined) } ?? true
    }
}
