import RunLoopKit
import Synchronization

/// A reason to end early: Ctrl-C, SIGTERM, a terminal that has gone, or nobody who reads the output any more.
///
/// Ending early is not dying: the main loop's runs are stopped, from the inside out, so that whatever began also ends.
enum Interruption {
    enum Cause: UInt8, AtomicRepresentable {
        case none, interrupt, terminate, hangUp
        /// Whoever read our output has gone (`| head`): no failure, but no reason to go on.
        case readerGone
        /// The output cannot be written, because the disk is full for instance.
        case outputFailed
    }

    /// The first cause there was.
    private static var cause: Cause { firstCause.load(ordering: .sequentiallyConsistent) }

    static var isRequested: Bool { cause != .none }

    /// What the program ends with because of it; nil when there is no cause.
    static var exitCode: ExitCode? {
        switch cause {
        case .none: nil
        case .readerGone: .success
        case .interrupt: .interrupted
        case .terminate: .terminated
        case .hangUp: .hungUp
        case .outputFailed: .failure
        }
    }

    private static let firstCause = Atomic<Cause>(.none)

    /// Asks for the end. From any thread, also from a signal handler: so are an atomic word and `Loop.stop()`.
    static func request(_ cause: Cause) {
        _ = firstCause.compareExchange(expected: .none, desired: cause, ordering: .sequentiallyConsistent)
        Loop.main.stop()
    }

    /// Turns SIGINT and SIGTERM into requests, and makes the main loop's runs in `modes` heed them.
    static func heed(in modes: [Loop.Mode]) {
        // Both are made when first used, which must not be in a signal handler.
        _ = (cause, Loop.main)
        handleSignal(SIGINT) { _ in Interruption.request(.interrupt) }
        handleSignal(SIGTERM) { _ in Interruption.request(.terminate) }
        // `stop()` ends one run, the innermost, and none if it comes between two. Later passes see the request here:
        // those of the outer runs, and of runs that begin when it has been made already.
        let observer = Loop.Observer(.beforeTimers) { _, _ in
            if isRequested { Loop.main.stop() }
        }
        for mode in modes { Loop.main.add(observer, in: mode) }
    }
}
