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

@MainActor final class Supervisor {
    private static let shortestPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(10)

    private let command: [String]
    private let grace: Duration
    private var child: pid_t?
    private var startTime = Loop.main.now
    private var pause = shortestPause
    private var isEnding = false

    init(command: [String], grace: Duration) throws {
        self.command = command
        self.grace = grace
        // Before there are other threads, which inherit that the signals are blocked.
        for signal in [SIGTERM, SIGINT] {
            let source = try Loop.SignalSource(signal, isolation: .shared) { [unowned self] _, _ in end() }
            Loop.main.add(source, in: .common)
        }
    }

    func start() {
        do {
            let child = try spawn(command)
            try watch(child)
            print("started process \(child)")
            self.child = child
            startTime = Loop.main.now
        } catch {
            fputs("Supervisor: \(error)\n", stderr)
            exit(1)
        }
    }

    /// Reports the end of the program. One that cannot be watched is ended.
    private func watch(_ child: pid_t) throws {
        do {
            let source = try Loop.ProcessSource(child, isolation: .shared) { [unowned self] _, exit in ended(exit) }
            Loop.main.add(source, in: .common)
        } catch {
            kill(-child, SIGKILL)
            waitpid(child, nil, 0)
            throw error
        }
    }

    private func ended(_ exit: Loop.ProcessSource.Exit) {
        child = nil
        print("the process \(exit)")
        if case .exited(0) = exit { return Loop.main.stop() }
        if isEnding { return Loop.main.stop() }
        // A program that ran for a while has a fresh start.
        if startTime.duration(to: Loop.main.now) > Self.longestPause { pause = Self.shortestPause }
        print("starting it again in \(pause)")
        after(pause) { $0.start() }
        pause = min(pause * 2, Self.longestPause)
    }

    private func end() {
        guard !isEnding else { return }
        isEnding = true
        guard let child else { return Loop.main.stop() }
        kill(-child, SIGTERM)
        after(grace) {
            guard $0.child == child else { return }
            print("the process still runs")
            kill(-child, SIGKILL)
        }
    }

    private func after(_ delay: Duration, _ action: @escaping @MainActor (Supervisor) -> Void) {
        let timer = Loop.Timer(after: delay, isolation: .shared) { [unowned self] _ in action(self) }
        Loop.main.add(timer, in: .common)
    }
}

struct SpawnError: Error, CustomStringConvertible { let description: String }

/// Starts a program in a process group of its own, with no signal blocked: a child inherits the signals that the
/// signal sources have blocked here.
func spawn(_ command: [String]) throws -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
    let arguments = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let error = posix_spawnp(&child, command[0], nil, &attributes, arguments, environ)
    guard error == 0 else { throw SpawnError(description: "\(command[0]): \(String(cString: strerror(error)))") }
    return child
}

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
let supervisor = try Supervisor(command: command, grace: grace)
supervisor.start()
Loop.main.run()
print("ended")
