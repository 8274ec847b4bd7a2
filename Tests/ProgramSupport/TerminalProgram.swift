import Foundation
import TestSupport

/// A program that runs on a terminal of its own, a pseudo-terminal, as the leader of its session: the test types its
/// input, Ctrl-C included.
package final class TerminalProgram {
    /// An error of the kernel or the C library.
    package struct Failure: Error {
        let call: String
        let code: Int32
    }

    package let processIdentifier: pid_t

    /// The end with the keyboard and the screen.
    private let keyboard: Int32

    /// The program's end. Kept open, so that the terminal outlives the program, and the test can read its settings.
    private let terminal: Int32

    /// All that the program has drawn so far.
    package private(set) var screen = ""

    /// Kills the program when it passes.
    private let deadline: Deadline
    private var hasBeenWaitedFor = false

    /// - Parameter name: The name of a program that was built beside these tests, or a path.
    package init(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], rows: UInt16 = 24,
        columns: UInt16 = 80
    ) throws {
        keyboard = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // TIOCSPTLCK and TIOCGPTN: what `unlockpt` and `ptsname` do, which the Swift module of the C library lacks.
        var (lock, number): (Int32, Int32) = (0, 0)
        guard keyboard >= 0, ioctl(keyboard, 0x4004_5431, &lock) == 0, ioctl(keyboard, 0x8004_5430, &number) == 0 else {
            throw Failure(call: "/dev/ptmx", code: errno)
        }
        let file = "/dev/pts/\(number)"
        terminal = open(file, O_RDWR | O_NOCTTY | O_CLOEXEC)
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0 else { throw Failure(call: "ioctl", code: errno) }
        let environment = ProcessInfo.processInfo.environment.merging(["TERM": "xterm"]) { $1 }
            .merging(environment) { $1 }
        let process = try spawn(
            Program.url(of: name).path, [name] + arguments, environment: environment, leadsSession: true
        ) { actions in
            posix_spawn_file_actions_addopen(&actions, 0, file, O_RDWR, 0)
            for descriptor: Int32 in 1...2 { posix_spawn_file_actions_adddup2(&actions, 0, descriptor) }
        }
        processIdentifier = process
        deadline = Deadline { kill(process, SIGKILL) }
    }

    deinit {
        // A failed test may have left the program running.
        if !hasBeenWaitedFor {
            kill(processIdentifier, SIGKILL)
            _ = waitForEnd()
        }
        close(keyboard)
        close(terminal)
    }

    /// Whether keys arrive one by one, not line by line, and are not echoed.
    package var isRaw: Bool { settings.c_lflag & tcflag_t(ICANON | ECHO) == 0 }

    private var settings: termios {
        var settings = termios()
        tcgetattr(terminal, &settings)
        return settings
    }

    /// Resizes the terminal; SIGWINCH notifies the program.
    package func resize(rows: UInt16, columns: UInt16) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(keyboard, UInt(TIOCSWINSZ), &size)
    }

    package func type(_ keys: String) {
        var keys = keys
        _ = keys.withUTF8 { write(keyboard, $0.baseAddress, $0.count) }
    }

    /// Reads what the program draws until that contains `text`. Returns false if the program ends first.
    package func waitUntilScreen(holds text: String) -> Bool {
        while !screen.contains(text) {
            // Read first: everything that the program draws before its end is readable by then.
            let hasEnded = hasEnded
            if !readMore(for: 20), hasEnded { return false }
        }
        return true
    }

    /// Waits until the terminal's foreground process group is not that of the program, which is a shell.
    package func waitUntilAnotherIsInTheForeground() {
        while tcgetpgrp(keyboard) == processIdentifier, !hasEnded { _ = readMore(for: 20) }
    }

    /// Waits for its end. Returns the exit code, or minus the signal that ended it.
    package func waitForEnd() -> Int32 {
        // The program must not block on a screen that the test does not read.
        while !hasEnded { _ = readMore(for: 20) }
        while readMore(for: 0) {}
        hasBeenWaitedFor = true
        if !deadline.isMet() { screen += "\n[It did not end within \(Deadline.limit) s and was killed.]" }
        return reap(processIdentifier)
    }

    /// The program becomes a zombie. The terminal cannot report its end, because it outlives the program.
    private var hasEnded: Bool { TestSupport.hasEnded(processIdentifier) }

    /// Forgets what the program has drawn.
    package func clear() { screen = "" }

    private func readMore(for milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: keyboard, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return false }
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        let count = read(keyboard, &bytes, bytes.count)
        guard count > 0 else { return false }
        screen += String(decoding: bytes[..<count], as: UTF8.self)
        return true
    }
}
