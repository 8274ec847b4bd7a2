@preconcurrency import Glibc
import RunLoopKit

setlinebuf(stdout)  // whole lines, also into a pipe

do {
    let arguments = CommandLine.arguments
    switch arguments.count {
    case 2:
        let daemon = try Daemon(configuration: arguments[1])
        withExtendedLifetime(daemon) { Loop.main.run() }
        print("ended")
    case 4 where arguments[1] == "ask":
        try ask(socketAt: arguments[2], arguments[3])
    default:
        fputs("usage: rerun CONFIGURATION | rerun ask SOCKET LINE\n", stderr)
        exit(64)
    }
} catch {
    fputs("rerun: \(error)\n", stderr)
    exit(1)
}
