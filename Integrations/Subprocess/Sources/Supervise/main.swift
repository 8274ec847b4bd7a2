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
// Not a `Loop.SignalSource`: a thread of swift-subprocess unblocks all signals while it waits, and would take them. A
// stop is allowed in a signal handler; it cancels the task of runMain.
func stop(_ signal: Int32) { Loop.main.stop() }
var ending = sigset_t()
sigemptyset(&ending)
for number in [SIGINT, SIGTERM] {
    signal(number, stop)
    sigaddset(&ending, number)
}
// The parent may have blocked them.
pthread_sigmask(SIG_UNBLOCK, &ending, nil)

try Loop.runMain {
    try await Supervision(of: command, on: .main) { event in
        print("\(start.duration(to: Loop.main.now) / .seconds(1)) s: \(event)")
        fflush(nil)
    }.run(by: way)
}
