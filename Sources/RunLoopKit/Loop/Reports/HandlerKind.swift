extension Loop {
    /// A kind of handler that a loop calls.
    public enum HandlerKind: UInt8, CaseIterable, Sendable {
        /// An observer.
        case observer
        /// A posted block.
        case block
        /// A signalled version-0 source.
        case source0
        /// A version-1 source: a port, a message port, a descriptor, a Unix signal or a child process.
        case source1
        /// A timer.
        case timer
        /// The main dispatch queue, which is the main actor's too.
        case mainQueue
        /// A job of Swift concurrency.
        case job
    }
}
