import Glibc
import RunLoopKit

/// Runs a command, and runs it again on demand.
@MainActor
final class Child {
    private enum State {
        /// It has ended.
        case idle
        case running(pid_t)
    }

    var command = ""
    private var state = State.idle

    private func start() {
        print("starting: \(command)")
        do {
            let process = try spawn(command)
            try watch(process)
            state = .running(process)
        } catch {
            print("cannot start it: \(error)")
        }
    }

    /// Reports the end of the command. One that cannot be watched is ended.
    private func watch(_ process: pid_t) throws {
        do {
            let source = try Loop.ProcessSource(process, isolation: .shared) {
                [unowned self] _, exit in ended(exit)
            }
            Loop.main.add(source, in: .common)
        } catch {
            kill(-process, SIGKILL)
            waitpid(process, nil, 0)
            throw error
        }
    }

    private func ended(_ exit: Loop.ProcessSource.Exit) {
        print("the command \(exit)")
        state = .idle
    }
}
