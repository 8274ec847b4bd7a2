// Runs a program, and again whenever it ends: Supervise sources|subprocess PROGRAM [ARGUMENT…]. Ctrl-C and SIGTERM end
// the program, by SIGTERM and then by SIGKILL, and the supervisor with it.
import RunLoopKit
import Supervision

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count > 1, let way = Supervision.Way(rawValue: arguments.first!) else {
    print("usage: Supervise sources|subprocess PROGRAM [ARGUMENT…]")
    exit(64)
}
let command = Array(arguments.dropFirst())
let start = Loop.main.now
// The stop cancels the task of runMain.
let ends = try Loop.SignalSource([SIGINT, SIGTERM]) { _, _ in Loop.main.stop() }
Loop.main.add(ends, in: .common)
try Loop.runMain {
    try await Supervision(of: command, on: .main) { event in
        print("\(start.duration(to: Loop.main.now) / .seconds(1)) s: \(event)")
        fflush(nil)
    }.run(by: way)
}
