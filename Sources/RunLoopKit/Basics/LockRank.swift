extension Lock {
    /// The lock order of the library: a thread that holds a lock takes only locks of cases further down.
    ///
    /// No two locks of one rank nest. Debug builds trap on a violation and name both ranks.
    @usableFromInline
    package enum Rank: UInt8, CaseIterable, Sendable {
        /// A rule engine's rules. Held while its books are searched and changed.
        case engine
        /// The loops that a tracer is attached to. Held while it attaches and detaches.
        case tracer
        /// The rules of one method.
        case book
        /// A limiter's state. Held while it, its timer and its blocks enter or leave the loop.
        case limiter
        /// The actions of an asynchronous limiter: which one runs, which calls are queued.
        case asyncActions
        /// The answer to an asynchronous limiter's calls, and the tasks that wait for it.
        case asyncOutcome
        /// Which asynchronous action waits for which. One lock for the process.
        case asyncWaits
        /// A loop: its modes, their items and memberships, and the posted blocks.
        case loop
        /// An item: its memberships, handlers and settings.
        case item
        /// The items of a mode that have become ready.
        case arrivals
        /// A virtual clock. Read while a timer of a loop changes.
        case clock
        /// Which thread blocks until which others answer. One lock for the process.
        case threadWaits
        /// A lock under which no other lock is taken.
        case leaf
    }
}
