/// The program's exit code.
enum ExitCode: Int32 {
    case success = 0
    case failure = 1

    /// An invalid command line (EX_USAGE).
    case usage = 64

    /// The input is malformed (EX_DATAERR).
    case malformedInput = 65

    /// The input cannot be opened or read (EX_NOINPUT).
    case noInput = 66

    /// Ended by SIGHUP: 128 plus the signal's number, as a shell reports it.
    case hungUp = 129

    /// Ended by SIGINT.
    case interrupted = 130

    /// Ended by SIGTERM.
    case terminated = 143
}
