// The demo's uses of the C library. This file re-exports it, so that the conditional import is in one place.
#if canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#elseif canImport(Android)
    @_exported import Android
#endif

/// Calls `handler`, on any thread, when the signal arrives, also if the parent process had blocked the signal.
/// Interrupted system calls are restarted.
///
/// - Parameter isLast: Whether the handler is called only once, and the signal's default action follows.
func handleSignal(_ signal: Int32, isLast: Bool = false, _ handler: @escaping @convention(c) (Int32) -> Void) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = handler
    action.sa_flags = isLast ? SA_RESTART | Int32(bitPattern: UInt32(SA_RESETHAND)) : SA_RESTART
    sigaction(signal, &action, nil)
    unblockSignal(signal)
}

/// Concerns the calling thread.
func unblockSignal(_ signal: Int32) {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, signal)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
}

/// Makes `write` to a pipe without a reader return an error instead of ending the process.
func ignoreClosedPipes() {
    signal(SIGPIPE, SIG_IGN)
}

/// The value of an environment variable; nil also when it is empty.
func environmentVariable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
}

/// Sleeps and checks repeatedly until `condition` holds, but not longer than `limit`; returns whether it holds. For
/// conditions that no event announces: a loop waits for all others.
func poll(for limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
    let clock = SuspendingClock()
    let end = clock.now.advanced(by: limit)
    while try !condition() {
        guard clock.now < end else { return false }
        usleep(200)
    }
    return true
}

/// Runs this program again, with the same input, output and environment, and waits for its end. Returns its exit code;
/// 128 plus the signal's number if a signal ended it.
func runThisProgramAgain(_ arguments: [String]) throws -> Int32 {
    // Resolves the link here: in the other process it would name another program.
    guard let path = realpath("/proc/self/exe", nil) else { throw ProgramError(errno) }
    defer { free(path) }
    var words: [UnsafeMutablePointer<CChar>?] = ([RunLoopDemo.name] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process = pid_t()
    let error = posix_spawn(&process, path, nil, nil, &words, environ)
    guard error == 0 else { throw ProgramError(error) }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
        guard errno == EINTR else { throw ProgramError(errno) }
    }
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
}

struct ProgramError: Error, CustomStringConvertible {
    private let code: Int32

    init(_ code: Int32) { self.code = code }

    var description: String { "cannot start this program again: \(String(cString: strerror(code)))" }
}

func leave(with code: ExitCode) -> Never {
    exit(code.rawValue)
}
