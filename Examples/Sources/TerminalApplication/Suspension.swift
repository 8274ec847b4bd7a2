import RunLoopKit

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Stops the process as Ctrl-Z does, in the handler of the source for SIGTSTP, which becomes invalid. Returns when the
/// process is continued; a source for SIGCONT is served next.
///
/// Where no shell could continue the process, the kernel ignores SIGTSTP, and this returns at once. A SIGSTOP would
/// stop it there for ever.
func stopAsJob(_ source: Loop.SignalSource) {
    source.invalidate()  // SIGTSTP has its old effect again
    raise(SIGTSTP)  // stops here
    raise(SIGCONT)  // for the source, even if nothing has stopped
}

/// Whether the program may set the terminal. Called by the handler of the
/// source for SIGCONT. In the background, as after `bg`, it stops the
/// process once more, until the next SIGCONT.
func hasTerminal() -> Bool {
    if tcgetpgrp(STDIN_FILENO) == getpgrp() { return true }
    raise(SIGTTOU)
    return false
}
