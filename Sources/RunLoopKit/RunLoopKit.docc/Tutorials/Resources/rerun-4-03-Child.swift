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
            let source = try Loop.ProcessSource(process, isolation: .shared) {
                [unowned self] _, exit in ended(exit)
            }
            Loop.main.add(source, in: .common)
            state = .running(process)
        } catch {
            print("cannot start it: \(error)")
        }
    }

    private func ended(_ exit: Loop.ProcessSource.Exit) {
        print("the command \(exit)")
        state = .idle
    }
}
