@preconcurrency import Glibc
import RunLoopKit

guard CommandLine.arguments.count == 2 else {
    fputs("usage: rerun FOLDER\n", stderr)
    exit(64)
}
setlinebuf(stdout)  // whole lines, also into a pipe

let ends = try Loop.SignalSource([SIGINT, SIGTERM]) { _, _ in Loop.main.stop() }
Loop.main.add(ends, in: .common)
do {
    let watcher = try Watcher(folder: CommandLine.arguments[1])
    withExtendedLifetime(watcher) { Loop.main.run() }
    print("ended")
} catch {
    fputs("rerun: \(error)\n", stderr)
    exit(1)
}
