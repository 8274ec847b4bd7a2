@preconcurrency import Glibc
import RunLoopKit

guard CommandLine.arguments.count == 2 else {
    fputs("usage: rerun CONFIGURATION\n", stderr)
    exit(64)
}
setlinebuf(stdout)  // whole lines, also into a pipe

do {
    let daemon = try Daemon(configuration: CommandLine.arguments[1])
    withExtendedLifetime(daemon) { Loop.main.run() }
    print("ended")
} catch {
    fputs("rerun: \(error)\n", stderr)
    exit(1)
}
