/// What the program tells the shell when it ends.
enum ExitCode: Int32 {
    case success = 0
    case failure = 1

    /// The command line makes no sense (EX_USAGE).
    case usage = 64

    /// What was read makes no sense (EX_DATAERR).
    case badData = 65

    /// Ended by SIGINT: 128 and the signal's number, as shells do it.
    case interrupted = 130

    /// Ended by SIGTERM.
    case terminated = 143
}
