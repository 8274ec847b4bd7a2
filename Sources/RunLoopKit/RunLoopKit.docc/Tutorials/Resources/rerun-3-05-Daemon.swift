import Glibc
import RunLoopKit

@MainActor
final class Daemon {
    private let path: String
    private var watcher: Watcher?

    init(configuration path: String) throws {
        self.path = path
        let configuration = try Configuration(path: path)
        try on(SIGHUP) { $0.reload() }
        try on(SIGINT) { $0.end() }
        try on(SIGTERM) { $0.end() }
        watcher = try Watcher(folder: configuration.folder, rest: configuration.rest)
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
        } catch {
            print(error)
        }
    }

    private func end() {
        watcher?.finish()
        Loop.main.stop()
    }
}
