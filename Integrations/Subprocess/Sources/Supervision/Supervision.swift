public import RunLoopKit

/// A program to supervise: to run, and to run again whenever it ends.
public struct Supervision: Sendable {
    /// How children are started and watched.
    public enum Way: String, Sendable, CaseIterable {
        /// By `posix_spawn`, with a `Loop.ProcessSource` and a `Loop.FileDescriptorSource`.
        case sources
        /// By swift-subprocess, in a task on the loop.
        case subprocess
    }

    /// What has happened to the program.
    public enum Event: Sendable, Equatable, CustomStringConvertible {
        case started(process: Int32)
        /// The program has written a line.
        case line(String)
        case ended(Loop.ProcessSource.Exit)
        /// The supervisor waits before it starts the program again.
        case waits(Duration)

        /// A description such as `exited with 0` or `starts again in 2.0 seconds`.
        public var description: String {
            switch self {
            case .started(let process): "started as process \(process)"
            case .line(let line): "| \(line)"
            case .ended(let exit): "\(exit)"
            case .waits(let delay): "starts again in \(delay)"
            }
        }
    }

    let command: [String]
    let loop: Loop
    var backOff: BackOff
    let grace: Duration
    let report: @Sendable (Event) -> Void

    /// - Parameters:
    ///   - command: The program's path, and its arguments.
    ///   - loop: The loop that the supervisor works on, and whose clock it waits on.
    ///   - grace: The time from SIGTERM to SIGKILL.
    ///   - report: Called with each event, on the loop's thread.
    public init(
        of command: [String], on loop: Loop, backOff: BackOff = BackOff(), grace: Duration = .seconds(5),
        report: @escaping @Sendable (Event) -> Void
    ) {
        precondition(!command.isEmpty)
        self.command = command
        self.loop = loop
        self.backOff = backOff
        self.grace = grace
        self.report = report
    }

    /// Runs the program, and again whenever it has ended, until the task is cancelled. The program then gets SIGTERM,
    /// and SIGKILL if it has not ended in time. Returns when it has ended.
    ///
    /// - Throws: The error of an attempt to start the program.
    public func run(by way: Way) async throws {
        switch way {
        case .sources: try await LoopSupervisor(self).run()
        case .subprocess: try await runSubprocess()
        }
    }
}
