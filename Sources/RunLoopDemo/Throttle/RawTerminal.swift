import Synchronization

/// The terminal, set so that key presses come at once and are not shown, with a screen to draw on.
///
/// It is given back as it was on every way out: when left, when the program exits, when a signal ends it, and while it
/// is suspended (Ctrl-Z). Nothing here takes a lock or allocates, since signal handlers call it.
enum RawTerminal {
    /// Whether input and output are a terminal that can do this.
    static var isPossible: Bool {
        isatty(STDIN_FILENO) == 1 && StandardOutput.isTerminal && TextStyle.terminalUnderstandsEscapes
    }

    /// Set between `enter` and `leave`. The values below, which handlers read, are written before it is set.
    private static let isEntered = Atomic<Bool>(false)
    /// Never freed, so that a handler finds them at any time.
    nonisolated(unsafe) private static let original = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    nonisolated(unsafe) private static let raw = UnsafeMutablePointer<termios>.allocate(capacity: 1)

    /// Takes the terminal, once in a program's life. Ctrl-C and Ctrl-Z stay signals.
    static func enter() {
        original.initialize(to: termios())
        tcgetattr(STDIN_FILENO, original)
        raw.initialize(to: original.pointee)
        raw.pointee.c_lflag &= ~tcflag_t(ICANON | ECHO)
        // Ctrl-S is a key: stopped output would hold up the loop, and with it Ctrl-C.
        raw.pointee.c_iflag &= ~tcflag_t(IXON)
        isEntered.store(true, ordering: .sequentiallyConsistent)
        atexit { RawTerminal.leave() }
        for signal in [SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP] {
            handleSignal(signal, isLast: true) { signal in
                RawTerminal.leave()
                // Blocked until the handler returns, and then the end.
                raise(signal)
            }
        }
        heedSuspension()
        // Also after a SIGSTOP, which cannot be handled: the shell has set the terminal meanwhile.
        handleSignal(SIGCONT) { _ in RawTerminal.take() }
        take()
    }

    /// Gives the terminal back, if it is taken. Also from a signal handler.
    static func leave() {
        if isEntered.exchange(false, ordering: .sequentiallyConsistent) { giveBack() }
    }

    private static func heedSuspension() {
        handleSignal(SIGTSTP) { _ in
            RawTerminal.giveBack()
            signal(SIGTSTP, SIG_DFL)
            raise(SIGTSTP)
            // It is delivered, and the process stops, here.
            unblockSignal(SIGTSTP)
            RawTerminal.heedSuspension()
            RawTerminal.take()
        }
    }

    private static func take() {
        guard isEntered.load(ordering: .sequentiallyConsistent) else { return }
        // In the background this stops the process until it is in the foreground again.
        tcsetattr(STDIN_FILENO, TCSANOW, raw)
        send(takeSequence)
    }

    private static func giveBack() {
        // In the background the terminal belongs to another process, which has set it.
        let foreground = tcgetpgrp(STDIN_FILENO)
        guard foreground < 0 || foreground == getpgrp() else { return }
        send(giveBackSequence)
        tcsetattr(STDIN_FILENO, TCSANOW, original)
    }

    // MARK: Escape codes

    /// The alternate screen, cleared; no cursor; lines are cut, not wrapped.
    private static let takeSequence: StaticString = "\u{1B}[?1049h\u{1B}[2J\u{1B}[?25l\u{1B}[?7l"
    private static let giveBackSequence: StaticString = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    private static func send(_ sequence: StaticString) {
        _ = write(STDOUT_FILENO, sequence.utf8Start, sequence.utf8CodeUnitCount)
    }
}
