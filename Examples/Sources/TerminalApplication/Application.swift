import RunLoopKit

#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    @preconcurrency import Musl
#endif

@MainActor final class Application {
    private(set) var keys = 0
    private(set) var frames = 0
    private var last = "none"
    /// What the terminal has not taken yet.
    private var kept: ArraySlice<UInt8> = []
    private var isFrameSkipped = false
    private var room: Loop.FileDescriptorSource?
    /// Draws at once, and again a frame's time later if there were requests since then.
    private let redraw = Throttle<Void>(interval: .milliseconds(33), edges: [.leading, .trailing], on: .main)

    init() throws {
        redraw.setHandler(isolation: .shared) { [unowned self] in draw() }
        // Valid until the process ends: without them a signal would end it before the terminal is restored. Those that
        // came while the process was stopped are served before SIGCONT, which came last.
        let inputs = [
            try Loop.SignalSource([SIGINT, SIGTERM, SIGHUP, SIGQUIT]) { _, _ in Loop.main.stop() },
            try Loop.SignalSource(SIGWINCH, isolation: .shared) { [unowned self] _, _ in redraw() },
            try Loop.SignalSource(SIGCONT, isolation: .shared) { [unowned self] _, _ in resume() },
            try Loop.FileDescriptorSource(STDIN_FILENO, isolation: .shared) { [unowned self] _, _ in readKeys() },
            Loop.Timer(every: .seconds(1), isolation: .shared) { [unowned self] _ in redraw() },
        ]
        for input in inputs { Loop.main.add(input, in: .common) }
        let room = try Loop.FileDescriptorSource(
            RawTerminal.output, interest: .write, isolation: .shared
        ) { [unowned self] _, _ in flush() }
        room.disarm()  // a terminal nearly always has room
        Loop.main.add(room, in: .common)
        self.room = room
        try hearStop()
        write("\(RawTerminal.beginning)")
        redraw()
    }

    private func readKeys() {
        guard RawTerminal.isRaw else { return }  // until `resume`: in the background `read` would stop the process
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { return Loop.main.stop() }
        for byte in bytes.prefix(max(count, 0)) {
            switch byte {
            case UInt8(ascii: "q"), 3: return Loop.main.stop()  // in raw mode Ctrl-C is a key
            case 26: kill(0, SIGTSTP)  // and so is Ctrl-Z, which is for the whole process group
            case UInt8(ascii: "c"): fatalError("a crash was requested")
            default:
                keys += 1
                last = (33...126).contains(byte) ? String(UnicodeScalar(byte)) : "\(byte)"
                redraw()
            }
        }
    }

    private func draw() {
        guard RawTerminal.isRaw else { return }  // until `resume`
        guard kept.isEmpty else { return isFrameSkipped = true }
        frames += 1
        var size = winsize()
        _ = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size)
        write(
            "\u{1B}[H\u{1B}[Jkeys: \(keys)   last: \(last)   frames: \(frames)\r\n"
                + "size: \(size.ws_col)x\(size.ws_row)\r\nq ends, c crashes\r\n")
    }

    private func write(_ text: String) {
        kept += Array(text.utf8)
        flush()
    }

    /// Writes what the terminal takes, and waits for more room only while something is left.
    private func flush() {
        while !kept.isEmpty {
            let count = kept.withUnsafeBytes { RawTerminal.write($0) }
            if count > 0 {
                kept = kept.dropFirst(count)
            } else if count == 0 || errno == EAGAIN {
                room?.rearm()
                return
            } else if errno != EINTR {
                return Loop.main.stop()  // the terminal is gone
            }
        }
        room?.disarm()
        if isFrameSkipped {
            isFrameSkipped = false
            redraw()
        }
    }

    private func hearStop() throws {
        let source = try Loop.SignalSource(SIGTSTP, isolation: .shared) { [unowned self] source, _ in
            suspend(source)
        }
        Loop.main.add(source, in: .common)
    }

    /// Gives the terminal to the shell, until that continues this process.
    private func suspend(_ source: Loop.SignalSource) {
        kept.withUnsafeBytes { RawTerminal.leave(kept: $0) }
        kept = []
        stopAsJob(source)
        do { try hearStop() } catch { Loop.main.stop() }
    }

    /// Takes the terminal again. Not called if the shell has ended the process, as by `kill %1`: SIGTERM comes first.
    private func resume() {
        guard hasTerminal() else { return }
        RawTerminal.enterAgain()
        write("\(RawTerminal.beginning)")
        redraw()
    }

    /// Leaves the terminal. A `print` would block if it takes no output, and the signals' sources would not be called.
    func end() {
        let farewell = Array("keys: \(keys), frames: \(frames)\n".utf8)
        kept.withUnsafeBytes { kept in
            farewell.withUnsafeBytes { RawTerminal.leave(kept: kept, farewell: $0) }
        }
    }
}
