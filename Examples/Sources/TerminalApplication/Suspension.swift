#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Stops the process as Ctrl-Z does, in the handler of a source for SIGTSTP. Returns when the process is continued.
///
/// Where no shell could continue it, the kernel ignores SIGTSTP, and this returns at once. A SIGSTOP would stop it
/// there for ever.
func stopAsJob() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTSTP)
    raise(SIGTSTP)  // waits: the source blocks it
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)  // delivered here, with its default effect
    pthread_sigmask(SIG_BLOCK, &signals, nil)  // for the source again
}
