#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// The terminal in raw mode, on its alternate screen. It is left as it was found when the program ends, also by a
/// crash; only SIGKILL leaves no time for that.
enum RawTerminal {
    private static let crashes = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP]
    // In memory that a signal handler may read.
    private nonisolated(unsafe) static let found = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    private nonisolated(unsafe) static let previous = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
    private nonisolated(unsafe) static var isRaw = false

    /// Returns false if the standard input is no terminal.
    @MainActor static func enter() -> Bool {
        guard tcgetattr(STDIN_FILENO, found) == 0, isatty(STDOUT_FILENO) == 1 else { return false }
        // Handlers on a stack of their own, for crashes that have used up the stack.
        var stack = stack_t(ss_sp: .allocate(byteCount: 1 << 16, alignment: 16), ss_flags: 0, ss_size: 1 << 16)
        sigaltstack(&stack, nil)
        for signal in crashes {
            var action = sigaction()
            action.sa_flags = SA_ONSTACK
            action.__sigaction_handler.sa_handler = { @Sendable signal in
                RawTerminal.leave()
                // The action of before takes place as soon as this returns: Swift's backtrace, or the default.
                sigaction(signal, RawTerminal.previous + Int(signal), nil)
                raise(signal)
            }
            sigaction(signal, &action, previous + Int(signal))
        }
        atexit { @Sendable in RawTerminal.leave() }  // on whichever thread calls `exit`
        var raw = found.pointee
        cfmakeraw(&raw)
        isRaw = true
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw)
        send("\u{1B}[?1049h\u{1B}[?25l")  // the alternate screen, no cursor
        return true
    }

    /// Restores what was found. Calls only what a signal handler may call.
    static func leave() {
        guard isRaw else { return }
        isRaw = false
        send("\u{1B}[?25h\u{1B}[?1049l")
        tcsetattr(STDIN_FILENO, TCSANOW, found)
    }

    private static func send(_ text: StaticString) {
        _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }
}
