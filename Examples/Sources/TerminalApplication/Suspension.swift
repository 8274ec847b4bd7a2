#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Stops the process as Ctrl-Z does, in the handler of a source for SIGTSTP. Returns when the process is continued.
///
/// Where no shell could continue it, the kernel ignores SIGTSTP, and this returns at once. A SIGSTOP would stop it
/// there for ever.
///
/// Returns false if the process is to end, as after `kill %1`, by which a shell sends SIGTERM and SIGCONT. The terminal
/// is the shell's then, and setting it would stop the process once more.
func stopAsJob() -> Bool {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTSTP)
    raise(SIGTSTP)  // waits: the source blocks it
    // Delivered here, with its default effect.
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    pthread_sigmask(SIG_BLOCK, &signals, nil)  // for the source again
    var waiting = sigset_t()
    sigpending(&waiting)
    return ![SIGINT, SIGTERM, SIGHUP, SIGQUIT].contains {
        sigismember(&waiting, $0) == 1
    }
}
