import Glibc
import RunLoopKit

/// Runs a command, and runs it again on demand.
@MainActor
final class Child {
    private enum State {
        /// It has ended.
        case idle
        case running(pid_t)
        /// It was sent SIGTERM, and is started again when it has ended.
        case restarting(pid_t)
    }

    var command = ""
    private var state = State.idle
    private let retry = Retry(on: .main)

    init() {
        retry.setAction { [weak self] in
            MainActor.assumeIsolated { self?.start() }
        }
    }

    /// Starts the command. If it runs, it is ended first.
    func restart() {
        retry.reset()
        switch state {
        case .idle: start()
        case .running(let process):
            state = .restarting(process)
            kill(-process, SIGTERM)
        case .restarting: break
        }
    }

    /// Ends the command with the program.
    func end() {
        switch state {
        case .idle: break
        case .running(let process), .restarting(let process):
            kill(-process, SIGTERM)
        }
    }

    private func start() {
        print("starting: \(command)")
        do {
            let process = try spawn(command)
            try watch(process)
            state = .running(process)
        } catch {
            print("cannot start it: \(error)")
            state = .idle
            print("starting it again in \(retry.schedule())")
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
        switch state {
        case .restarting: start()
        case .idle, .running:
            state = .idle
            if exit != .exited(0) {
                print("starting it again in \(retry.schedule())")
            }
        }
    }
}
