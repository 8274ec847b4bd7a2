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

    /// What the program ends with because of it; nil when that is for the subcommand to say.
    static var exitCode: ExitCode? {
        switch cause {
        case .none, .readerGone: nil
        case .interrupt: .interrupted
        case .terminate: .terminated
        case .hangUp: .hungUp
        case .outputFailed: .failure
        }
    }

    private static let firstCause = Atomic<Cause>(.none)

    /// Asks for the end. From any thread, also from a signal handler: so are an atomic word, `write` and `Loop.stop()`.
    static func request(_ cause: Cause) {
        _ = firstCause.compareExchange(expected: .none, desired: cause, ordering: .sequentiallyConsistent)
        let failure = errno
        _ = write(ends.writer, "x", 1)
        errno = failure
        Loop.main.stop()
    }

    /// Asks for the end when Ctrl-C has come and no handler is called: a signal source has it blocked, and hears of it
    /// only when its loop runs.
    static func requestIfPending() {
        var pending = sigset_t()
        if sigpending(&pending) == 0, sigismember(&pending, SIGINT) == 1 { request(.interrupt) }
    }

    /// Readable from the first request on: for waits outside of the main loop. Negative, which `poll` ignores, where
    /// no pipe can be had.
    static var descriptor: Int32 { ends.reader }

    private static let ends: (reader: Int32, writer: Int32) = {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return (-1, -1) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Full, it has said what there is to say.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }()

    /// Turns SIGINT and SIGTERM into requests, and makes the main loop's runs in `modes` heed them.
    static func heed(in modes: [Loop.Mode]) {
        // All are made when first used, which must not be in a signal handler.
        _ = (cause, ends, Loop.main)
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
