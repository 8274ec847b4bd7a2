import RunLoopKit
import Synchronization

/// A reason to end early: Ctrl-C, SIGTERM, a terminal that was closed, or an output without a reader.
///
/// Ending early is not an exit: the main loop's runs are stopped, from the inside out, so that everything that began
/// ends.
enum Interruption {
    enum Cause: UInt8, AtomicRepresentable {
        case none, interrupt, terminate, hangUp
        /// The reader of the output has closed it (`| head`): not a failure, but a reason to end.
        case readerGone
        /// The output cannot be written, for instance because the disk is full.
        case outputFailed
    }

    /// The first cause.
    private static var cause: Cause { firstCause.load(ordering: .sequentiallyConsistent) }

    static var isRequested: Bool { cause != .none }

    /// The program's exit code for the cause; nil if the subcommand decides.
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

    /// Requests the end. From any thread, also from a signal handler: an atomic word, `write` and `Loop.stop()` are
    /// safe there. Allocates nothing: the signal may interrupt its thread in `malloc`, with the lock of `malloc` held.
    static func request(_ cause: Cause) {
        _ = firstCause.compareExchange(expected: .none, desired: cause, ordering: .sequentiallyConsistent)
        let failure = errno
        // Not a string literal: the array that Swift makes of it allocates, and the signal may have interrupted malloc.
        var byte: UInt8 = 0
        _ = write(ends.writer, &byte, 1)
        errno = failure
        Loop.main.stop()
    }

    /// Requests the end if Ctrl-C has come. Called where a handler waits, and keeps the main loop from serving the
    /// signal's source.
    static func requestIfPending() {
        if hasNotedInterrupt.load(ordering: .relaxed) { request(.interrupt) }
    }

    private static let hasNotedInterrupt = Atomic<Bool>(false)

    /// Notes Ctrl-C for `requestIfPending`, on the returned thread, while that is retained.
    static func noteInterrupts() throws -> LoopThread {
        let thread = try LoopThread(name: "interrupts")
        let source = try Loop.SignalSource(SIGINT) { _, _ in hasNotedInterrupt.store(true, ordering: .relaxed) }
        thread.loop.add(source, in: .common)
        return thread
    }

    /// Readable from the first request on: for waits outside the main loop. Negative, which `poll` ignores, if no pipe
    /// can be made.
    static var descriptor: Int32 { ends.reader }

    private static let ends: (reader: Int32, writer: Int32) = {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return (-1, -1) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A full pipe is readable already.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }()

    /// Turns SIGINT and SIGTERM into requests that end the main loop's runs in `modes`.
    static func heed(in modes: [Loop.Mode]) {
        // Lazy globals, which a signal handler must not initialize.
        _ = (cause, ends, Loop.main)
        handleSignal(SIGINT) { _ in Interruption.request(.interrupt) }
        handleSignal(SIGTERM) { _ in Interruption.request(.terminate) }
        // `stop()` ends the innermost run, and none if it comes between two runs. This observer sees the request in
        // later passes: those of outer runs, and those of runs that begin after the request.
        let observer = Loop.Observer(.beforeTimers) { _, _ in
            if isRequested { Loop.main.stop() }
        }
        observer.label = "interruption"
        for mode in modes { Loop.main.add(observer, in: mode) }
    }
}
