import RunLoopKit

#if canImport(Glibc)
    @preconcurrency import Glibc
#else
    @preconcurrency import Musl
#endif

@MainActor final class Supervisor {
    private static let shortestPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(10)

    private let command: [String]
    private let grace: Duration
    private var child: Loop.ChildProcess?
    private var startTime = Loop.main.now
    private var pause = shortestPause
    private var isEnding = false

    init(command: [String], grace: Duration) throws {
        self.command = command
        self.grace = grace
        let ends = try Loop.SignalSource([SIGTERM, SIGINT], isolation: .shared) { [unowned self] _, _ in end() }
        Loop.main.add(ends, in: .common)
    }

    func start() {
        do {
            let child = try Loop.ChildProcess(command[0], Array(command.dropFirst()), isolation: .shared) {
                [unowned self] _, exit in ended(exit)
            }
            Loop.main.add(child, in: .common)
            print("started process \(child.process)")
            self.child = child
            startTime = Loop.main.now
        } catch {
            fputs("Supervisor: \(error)\n", stderr)
            exit(1)
        }
    }

    private func ended(_ exit: Loop.ProcessSource.Exit) {
        child = nil
        print("the process \(exit)")
        if case .exited(0) = exit { return Loop.main.stop() }
        if isEnding { return Loop.main.stop() }
        // A program that ran for a while has a fresh start.
        if startTime.duration(to: Loop.main.now) > Self.longestPause { pause = Self.shortestPause }
        print("starting it again in \(pause)")
        after(pause) { $0.start() }
        pause = min(pause * 2, Self.longestPause)
    }

    private func end() {
        guard !isEnding else { return }
        isEnding = true
        guard let child else { return Loop.main.stop() }
        child.end(within: grace)
    }

    private func after(_ delay: Duration, _ action: @escaping @MainActor (Supervisor) -> Void) {
        let timer = Loop.Timer(after: delay, isolation: .shared) { [unowned self] _ in action(self) }
        Loop.main.add(timer, in: .common)
    }
}
