import Glibc
import RunLoopKit

@MainActor
final class Daemon {
    private let path: String
    private var watcher: Watcher?
    private let child = Child()
    private var server: Server?
    private var grace: Duration
    private var partsToEnd = 0

    init(configuration path: String) throws {
        self.path = path
        let configuration = try Configuration(path: path)
        grace = configuration.grace
        try on(SIGHUP) { $0.reload() }
        try on(SIGINT) { $0.end() }
        try on(SIGTERM) { $0.end() }
        watcher = try Watcher(folder: configuration.folder, rest: configuration.rest) {
            [child] in child.restart()
        }
        server = try Server(path: configuration.socket) {
            [unowned self] line in answer(to: line)
        }
        child.command = configuration.command
        child.restart()
    }

    private func answer(to line: String) -> String {
        switch line {
        case "status": return child.status
        case "rerun":
            child.restart()
            return "it runs again"
        default: return "not understood: \(line)"
        }
    }

    private func on(
        _ signal: Int32, _ action: @escaping @MainActor (Daemon) -> Void
    ) throws {
        let source = try Loop.SignalSource(signal, isolation: .shared) {
            [unowned self] _, _ in action(self)
        }
        Loop.main.add(source, in: .common)
    }

    /// Reads the configuration again. If it is not valid, nothing changes.
    private func reload() {
        do {
            let configuration = try Configuration(path: path)
            try watcher?.watch(configuration.folder, rest: configuration.rest)
            grace = configuration.grace
            child.command = configuration.command
            child.restart()
        } catch {
            print(error)
        }
    }

    private func end() {
        guard partsToEnd == 0 else { return }
        partsToEnd = 2
        child.end(grace: grace) { [unowned self] in partHasEnded() }
        watcher?.finish()
        server?.end { [unowned self] in partHasEnded() }
    }

    /// The loop goes on until the command and the server have ended.
    private func partHasEnded() {
        partsToEnd -= 1
        if partsToEnd == 0 { Loop.main.stop() }
    }
}
