// The little that the demo needs of the C library. Re-exported, so that one file knows how the C library is called
// here.
#if canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#elseif canImport(Android)
    @_exported import Android
#endif

/// Calls `handler`, on whichever thread, when the signal comes, also if whoever started this program had it blocked.
/// System calls that it interrupts go on.
func handleSignal(_ signal: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = handler
    action.sa_flags = SA_RESTART
    sigaction(signal, &action, nil)
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, signal)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
}

/// Writing to a pipe that nobody reads becomes an error of `write` instead of the end of the process.
func ignoreClosedPipes() {
    signal(SIGPIPE, SIG_IGN)
}

/// The value of an environment variable; nil also when it is empty.
func environmentVariable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
}

/// Waits by sleeping and looking again until `condition` holds, but not longer than `limit`; returns whether it holds.
/// For what nobody announces: not for what a loop can wait for.
func poll(for limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
    let clock = SuspendingClock()
    let end = clock.now.advanced(by: limit)
    while try !condition() {
        guard clock.now < end else { return false }
        usleep(200)
    }
    return true
}

func leave(with code: ExitCode) -> Never {
    exit(code.rawValue)
}
