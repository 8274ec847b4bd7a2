@preconcurrency import Glibc
import RunLoopKit

let arguments = CommandLine.arguments
guard arguments.count == 3, let milliseconds = Int(arguments[2]) else {
    fputs("usage: rerun FOLDER MILLISECONDS\n", stderr)
    exit(64)
}
setlinebuf(stdout)  // whole lines, also into a pipe

do {
    let ends = try Loop.SignalSource([SIGINT, SIGTERM])
    Loop.main.add(ends, in: .common)
    let watcher = try Watcher(
        folder: arguments[1], rest: .milliseconds(milliseconds))
    ends.setHandler(isolation: .shared) { _, _ in
        watcher.finish()
        Loop.main.stop()
    }
    Loop.main.run()
    print("ended")
} catch {
    fputs("rerun: \(error)\n", stderr)
    exit(1)
}
