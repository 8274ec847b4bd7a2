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
        /// It was sent SIGTERM at the end of the program.
        case ending(pid_t)
        /// It has ended with the program.
        case over
    }

    var command = ""
    private var state = State.idle
    private let retry = Retry(on: .main)
    private var starts = 0

    var status: String {
        switch state {
        case .idle: "started \(starts) times, and has ended"
        case .over: "has ended"
        case .running, .restarting, .ending: "started \(starts) times, and runs"
        }
    }

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
        case .restarting, .ending, .over: break
        }
    }

    /// Ends the command, by SIGKILL if it still runs after the grace period, and
    /// stops the loop.
    func end(grace: Duration = .seconds(5)) {
        retry.reset()
        switch state {
        case .idle:
            state = .over
            Loop.main.stop()
        case .running(let process), .restarting(let process):
            state = .ending(process)
            kill(-process, SIGTERM)
            let timer = Loop.Timer(after: grace, isolation: .shared) { _ in
                print("the command still runs")
                kill(-process, SIGKILL)
            }
            Loop.main.add(timer, in: .common)
        case .ending, .over: break
        }
    }

    private func start() {
        print("starting: \(command)")
        do {
            let process = try spawn(command)
            try watch(process)
            state = .running(process)
            starts += 1
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
        case .ending, .over:
            state = .over
            Loop.main.stop()
        case .restarting: start()
        case .idle, .running:
            state = .idle
            if exit != .exited(0) {
                print("starting it again in \(retry.schedule())")
            }
        }
    }
}
