import Foundation
import TestSupport

/// A program that was started and has not been reaped.
final class RunningProgram: Sendable {
    let processIdentifier: pid_t

    /// - Parameters:
    ///   - command: The program's path, and its arguments.
    ///   - environment: What differs from the variables of this process.
    ///   - prepare: Adds what happens to the program's descriptors before its exec.
    init(
        _ command: [String], environment: [String: String] = [:], prepare: (inout posix_spawn_file_actions_t) -> Void
    ) throws {
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        processIdentifier = try spawn(command[0], command, environment: all, prepare: prepare)
    }

    var isRunning: Bool { !hasEnded(processIdentifier) }

    /// The process id stays the program's: it is a zombie.
    func waitUntilEnd() { waitForEnd(of: processIdentifier) }

    /// Returns the exit code, or minus the signal that ended the program. Called once.
    func reap() -> Int32 { TestSupport.reap(processIdentifier) }
}
