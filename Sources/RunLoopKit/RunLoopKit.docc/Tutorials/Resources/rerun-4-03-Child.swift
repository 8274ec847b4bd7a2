import RunLoopKit

/// Runs a command, and runs it again on demand.
@MainActor
final class Child {
    private enum State {
        /// It has ended.
        case idle
        case running(Loop.ChildProcess)
    }

    var command = ""
    private var state = State.idle

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
        }
    }

    private func ended(_ exit: Loop.ProcessSource.Exit) {
        print("the command \(exit)")
        state = .idle
    }
}
