// Keeps a program running: starts it again when it fails, later each time that it fails soon.
//
//     Supervisor [--grace MILLISECONDS] COMMAND [ARGUMENT …]
//
// It ends with the program if that succeeds. SIGTERM and Ctrl-C end both: the program gets SIGTERM and, if it still
// runs after the grace period (5 s), SIGKILL. Both signals are sent to its process group.
import RunLoopKit

#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    @preconcurrency import Musl
#endif

var command = Array(CommandLine.arguments.dropFirst())
var grace = Duration.seconds(5)
if command.count >= 2, command[0] == "--grace", let milliseconds = Int(command[1]) {
    grace = .milliseconds(milliseconds)
    command.removeFirst(2)
}
guard let program = command.first, !program.hasPrefix("-") else {
    fputs("usage: Supervisor [--grace MILLISECONDS] COMMAND [ARGUMENT …]\n", stderr)
    exit(64)
}
setvbuf(stdout, nil, Int32(_IOLBF), 0)  // whole lines, also into a pipe

let arguments = Array(command.dropFirst())
let supervised = Loop.SupervisedChild(on: .main) { try Loop.ChildProcess(program, arguments) }
supervised.start(isolation: .shared) { _, event in
    switch event {
    case .started(let child): print("started process \(child.process)")
    case .ended(let exit, let pause):
        print("the process \(exit)")
        if let pause { print("starting it again in \(pause)") }
    case .notStarted(let error, _):
        fputs("Supervisor: \(error)\n", stderr)
        exit(1)
    case .over: Loop.main.stop()
    }
}
let ends = try Loop.SignalSource([SIGTERM, SIGINT], isolation: .shared) { _, _ in supervised.end(within: grace) }
Loop.main.add(ends, in: .common)
Loop.main.run()
print("ended")
