import Glibc
import RunLoopKit

/// Runs a command, and runs it again on demand.
@MainActor
final class Child {
    private enum State {
        /// It has ended.
        case idle
        case running(Loop.ChildProcess)
        /// It was asked to end, and is started again when it has ended.
        case restarting(Loop.ChildProcess)
    }

    var command = ""
    private var state = State.idle

    /// Starts the command. If it runs, it is ended first.
    func restart() {
        switch state {
        case .idle: start()
        case .running(let child):
            state = .restarting(child)
            child.end(within: .seconds(5))
        case .restarting: break
        }
    }

    /// Ends the command with the program.
    func end() {
        switch state {
        case .idle: break
        case .running(let child), .restarting(let child):
            child.signal(SIGTERM)
        }
    }

    private func start() {
        print("starting: \(command)")
        do {
            let child = try Loop.ChildProcess("sh", ["-c", command], isolation: .shared) {
                [unowned self] _, exit in ended(exit)
            }
            Loop.main.add(child, in: .common)
            state = .running(child)
        } catch {
            print("cannot start it: \(error)")
            state = .idle
        }
    }

    private func ended(_ exit: Loop.ProcessSource.Exit) {
        print("the command \(exit)")
        switch state {
        case .restarting: start()
        case .idle, .running: state = .idle
        }
    }
}
