#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// The terminal in raw mode, on its alternate screen. It is left as it was found when the program ends, also by a
/// crash; only SIGKILL leaves no time for that.
///
/// All output goes through a descriptor of its own that does not block: the `O_NONBLOCK` of standard output would be
/// the shell's, too. So the program ends in time even if the output is stopped, or no process reads it. Nothing is
/// printed beside it: a `print` would block.
enum RawTerminal {
    private static let crashes = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP]
    // In memory that a signal handler may read.
    private nonisolated(unsafe) static let found = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    private nonisolated(unsafe) static let previous = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
    private(set) nonisolated(unsafe) static var isRaw = false
    private(set) nonisolated(unsafe) static var output: Int32 = -1

    /// Returns false if the standard input and output are no terminal.
    @MainActor static func enter() -> Bool {
        guard tcgetattr(STDIN_FILENO, found) == 0, isatty(STDOUT_FILENO) == 1, let name = ttyname(STDOUT_FILENO)
        else { return false }
        output = open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard output >= 0 else { return false }
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
        enterAgain()
        return true
    }

    /// Sets raw mode, also after `leave`.
    @MainActor static func enterAgain() {
        var raw = found.pointee
        cfmakeraw(&raw)
        isRaw = true
        tcsetattr(STDIN_FILENO, TCSANOW, &raw)
    }

    /// The alternate screen, no cursor.
    static let beginning: StaticString = "\u{1B}[?1049h\u{1B}[?25l"
    /// CAN ends a sequence of which only a part was written.
    private static let end: StaticString = "\u{18}\u{1B}[?25h\u{1B}[?1049l"

    /// Restores what was found, within a second. Calls only what a signal
    /// handler may call.
    ///
    /// - Parameters:
    ///   - kept: What the terminal has not taken yet, which comes first.
    ///   - farewell: A text for the screen that was there, which comes last.
    ///     Lost if the terminal takes no output.
    static func leave(
        kept: UnsafeRawBufferPointer = .init(start: nil, count: 0),
        farewell: UnsafeRawBufferPointer = .init(start: nil, count: 0)
    ) {
        guard isRaw else { return }
        isRaw = false
        // At first without IXON: clearing it restarts output that Ctrl-S
        // stopped.
        var attributes = found.pointee
        attributes.c_iflag &= ~tcflag_t(IXON)
        tcsetattr(STDIN_FILENO, TCSANOW, &attributes)
        let sequences = UnsafeRawBufferPointer(
            start: end.utf8Start, count: end.utf8CodeUnitCount)
        let limit = milliseconds() + 1000
        let isWritten =
            write(kept, until: limit) && write(sequences, until: limit)
            && write(farewell, until: limit)
        if !isWritten {
            // No process reads. What waits in the kernel is dropped, which
            // makes room: one that reads again later finds these.
            tcflush(output, TCOFLUSH)
            _ = write(sequences, until: limit)
        }
        tcsetattr(STDIN_FILENO, TCSANOW, found)
    }

    /// Writes what the terminal takes now. Returns as `write` does.
    static func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
            Glibc.write(output, bytes.baseAddress, bytes.count)
        #else
            Musl.write(output, bytes.baseAddress, bytes.count)
        #endif
    }

    /// Returns whether the terminal has taken all.
    private static func write(_ bytes: UnsafeRawBufferPointer, until limit: Int) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = write(UnsafeRawBufferPointer(rebasing: bytes[written...]))
            if count > 0 {
                written += count
            } else if count == 0 || errno == EAGAIN {
                let time = limit - milliseconds()
                var request = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
                guard time > 0, poll(&request, 1, Int32(time)) >= 0 || errno == EINTR else { return false }
            } else if errno != EINTR {
                return false  // the terminal is gone
            }
        }
        return true
    }

    private static func milliseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }
}
