import Glibc
import RunLoopKit

// An actor on a loop that handles SIGTERM itself.
actor Daemon {
    private let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.loop.asUnownedSerialExecutor()
    }

    init() throws { thread = try LoopThread(name: "daemon") }

    func start() throws {
        let terminate = try Loop.SignalSource(SIGTERM, isolation: self) {
            daemon, _, _ in daemon.end()
        }
        thread.loop.add(terminate, in: .common)
    }

    private func end() {
        print("ends, on its own thread: \(thread.isCurrent)")
        Loop.main.stop()
    }
}

let daemon = try Daemon()
try Loop.runMain {
    try await daemon.start()
    kill(getpid(), SIGTERM)  // as a user would
    try? await Task.sleep(for: .seconds(3600))  // until the stop
}
