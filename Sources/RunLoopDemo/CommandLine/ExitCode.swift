/// What the program tells the shell when it ends.
enum ExitCode: Int32 {
    case success = 0
    case failure = 1

    /// The command line makes no sense (EX_USAGE).
    case usage = 64

    /// The input is malformed (EX_DATAERR).
    case malformedInput = 65

    /// The input cannot be opened or read (EX_NOINPUT).
    case noInput = 66

    /// Ended by SIGHUP: 128 and the signal's number, as shells do it.
    case hungUp = 129

    /// Ended by SIGINT.
    case interrupted = 130

    /// Ended by SIGTERM.
    case terminated = 143
}
