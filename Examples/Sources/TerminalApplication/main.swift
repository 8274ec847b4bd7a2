// A terminal application: raw mode, keys, a changing size, and at most thirty frames a second. Needs a terminal.
//
//     TerminalApplication
//
// It ends with `q`, Ctrl-C or SIGTERM, is suspended with Ctrl-Z, and crashes with `c`; the terminal is left as it was
// found. One that takes no output delays neither keys nor signals, and the end by a second at most.
import RunLoopKit

#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    @preconcurrency import Musl
#endif

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
application.end()
