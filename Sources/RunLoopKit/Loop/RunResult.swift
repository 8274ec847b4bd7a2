extension Loop {
    /// Why a run ended. The raw values are CF's (`CFRunLoopRunResult`).
    public enum RunResult: Int32, Sendable, CustomStringConvertible {
        /// The mode has no source, no timer and no block left, or never had any. A restartable timer that waits for its
        /// restart does not count; nor does, for ``Loop/runUntilFinished(in:)``, an item of the background. (In
        /// programs with libdispatch the main loop's common modes always have the main dispatch queue to wait for.) CF:
        /// `kCFRunLoopRunFinished`.
        case finished = 1
        /// ``Loop/stop()`` was called. CF: `kCFRunLoopRunStopped`.
        case stopped = 2
        /// The time was up. CF: `kCFRunLoopRunTimedOut`.
        case timedOut = 3
        /// A source was handled, and the run returns after one. Sources of both versions count, and the main dispatch
        /// queue; timers, blocks and observers do not. CF: `kCFRunLoopRunHandledSource`.
        case handledSource = 4

        /// The case's name.
        public var description: String {
            switch self {
            case .finished: "finished"
            case .stopped: "stopped"
            case .timedOut: "timedOut"
            case .handledSource: "handledSource"
            }
        }
    }
}
