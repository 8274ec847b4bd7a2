// Asks an SQLite database, on a thread of its own. Needs SQLite's development files (libsqlite3-dev).
//
//     DatabaseActor [--timeout MILLISECONDS] DATABASE QUERY …
//
// The queries run one after the other. Ctrl-C and SIGTERM cancel the one that runs, and with it the program.
import RunLoopKit

#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    @preconcurrency import Musl
#endif

var arguments = Array(CommandLine.arguments.dropFirst())
var timeout: Duration?
if arguments.count >= 2, arguments[0] == "--timeout", let milliseconds = Int(arguments[1]) {
    timeout = .milliseconds(milliseconds)
    arguments.removeFirst(2)
}
guard arguments.count >= 2, !arguments[0].hasPrefix("-") else {
    fputs("usage: DatabaseActor [--timeout MILLISECONDS] DATABASE QUERY …\n", stderr)
    exit(64)
}

setvbuf(stdout, nil, Int32(_IOLBF), 0)  // whole lines, also into a pipe
// Stopping the main loop cancels the task of `runMain`.
let ends = try Loop.SignalSource([SIGINT, SIGTERM]) { _, _ in Loop.main.stop() }
Loop.main.add(ends, in: .common)

let status: Int32 = Loop.runMain {
    do {
        let database = try Database(path: arguments[0])
        // The main thread remains free meanwhile.
        let progress = Loop.Timer(every: .seconds(2)) { _ in fputs("still busy; Ctrl-C ends the query\n", stderr) }
        Loop.main.add(progress, in: .common)
        for query in arguments.dropFirst() {
            for row in try await database.rows(query, timeout: timeout) { print(row.joined(separator: "|")) }
        }
        return 0
    } catch is CancellationError {
        print("cancelled")
    } catch is Database.TimedOut {
        print("timed out")
    } catch {
        print("failed: \(error)")
    }
    return 1
}
exit(status)
