// A terminal application: raw mode, keys, a changing size, and at most thirty frames a second. Needs a terminal.
//
//     TerminalApplication
//
// It ends with `q`, Ctrl-C or SIGTERM, and crashes with `c`; the terminal is left as it was found.
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
    /// Draws at once, and again a frame's time later if there were requests since then.
    private lazy var redraw = Throttle<Void>(
        interval: .milliseconds(33), edges: [.leading, .trailing], isolation: .shared
    ) { [unowned self] in draw() }

    init() throws {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            Loop.main.add(try Loop.SignalSource(signal) { _, _ in Loop.main.stop() }, in: .common)
        }
        let inputs = [
            try Loop.SignalSource(SIGWINCH, isolation: .shared) { [unowned self] _, _ in redraw() },
            try Loop.FileDescriptorSource(STDIN_FILENO, isolation: .shared) { [unowned self] _, _ in readKeys() },
            Loop.Timer(every: .seconds(1), isolation: .shared) { [unowned self] _ in redraw() },
        ]
        for input in inputs { Loop.main.add(input, in: .common) }
        redraw()
    }

    private func readKeys() {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { return Loop.main.stop() }
        for byte in bytes.prefix(max(count, 0)) {
            switch byte {
            case UInt8(ascii: "q"), 3: return Loop.main.stop()  // in raw mode Ctrl-C is a key
            case UInt8(ascii: "c"): fatalError("a crash was requested")
            default:
                keys += 1
                last = (33...126).contains(byte) ? String(UnicodeScalar(byte)) : "\(byte)"
                redraw()
            }
        }
    }

    private func draw() {
        frames += 1
        var size = winsize()
        _ = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size)
        // The first lines of the screen, which is cleared.
        print(
            "\u{1B}[H\u{1B}[Jkeys: \(keys)   last: \(last)   frames: \(frames)", "size: \(size.ws_col)x\(size.ws_row)",
            "q ends, c crashes", separator: "\r\n")
        fflush(stdout)
    }
}

guard CommandLine.arguments.count == 1 else {
    fputs("usage: TerminalApplication\n", stderr)
    exit(64)
}
guard RawTerminal.enter() else {
    fputs("TerminalApplication: the input or the output is not a terminal\n", stderr)
    exit(1)
}
let application = try Application()
Loop.main.run()
RawTerminal.leave()
print("keys: \(application.keys), frames: \(application.frames)")
