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
        /// It was asked to end with the program.
        case ending
        /// It has ended with the program.
        case over
    }

    var command = ""
    private var state = State.idle
    private let retry = Retry(on: .main)
    private var starts = 0
    private var whenEnded: @MainActor () -> Void = {}

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
        case .running(let child):
            state = .restarting(child)
            child.end(within: .seconds(5))
        case .restarting, .ending, .over: break
        }
    }

    /// Ends the command, by SIGKILL if it still runs after the grace period, and
    /// calls `ended` when it has.
    func end(
        grace: Duration = .seconds(5), then ended: @escaping @MainActor () -> Void = {}
    ) {
        retry.reset()
        whenEnded = ended
        switch state {
        case .idle: isOver()
        case .running(let child), .restarting(let child):
            state = .ending
            child.end(within: grace)
        case .ending, .over: break
        }
    }

    private func isOver() {
        state = .over
        whenEnded()
    }

    private func start() {
        print("starting: \(command)")
        do {
            let child = try Loop.ChildProcess("sh", ["-c", command], isolation: .shared) {
                [unowned self] _, exit in ended(exit)
            }
            Loop.main.add(child, in: .common)
            state = .running(child)
            starts += 1
        } catch {
            print("cannot start it: \(error)")
            state = .idle
            print("starting it again in \(retry.schedule())")
        }
    }

    private func ended(_ exit: Loop.ProcessSource.Exit) {
        print("the command \(exit)")
        switch state {
        case .ending, .over: isOver()
        case .restarting: start()
        case .idle, .running:
            state = .idle
            if exit != .exited(0) {
                print("starting it again in \(retry.schedule())")
            }
        }
    }
}
