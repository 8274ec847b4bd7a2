import Foundation
import TestSupport

/// A program that was started and has not been reaped.
final class RunningProgram: Sendable {
    let processIdentifier: pid_t

    /// - Parameters:
    ///   - command: The program's path, and its arguments.
    ///   - environment: What differs from the variables of this process.
    ///   - prepare: Adds what happens to the program's descriptors 0 to 2 before its exec. It has no others: those that
    ///     this process has inherited depend on who runs the tests, and a test of a limit must not.
    init(
        _ command: [String], environment: [String: String] = [:], prepare: (inout posix_spawn_file_actions_t) -> Void
    ) throws {
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        processIdentifier = try spawn(command[0], command, environment: all) { actions in
            prepare(&actions)
            RunningProgram.closeOthers(&actions)
        }
    }

    /// Closes what the program would inherit, by a function that the Swift module of the C library lacks.
    private static func closeOthers(_ actions: inout posix_spawn_file_actions_t) {
        typealias Function = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
        _ = unsafeBitCast(symbol, to: Function.self)(&actions, 3)
    }

    var isRunning: Bool { !hasEnded(processIdentifier) }

    /// The process id stays the program's: it is a zombie.
    func waitUntilEnd() { waitForEnd(of: processIdentifier) }

    /// Returns the exit code, or minus the signal that ended the program. Called once.
    func reap() -> Int32 { TestSupport.reap(processIdentifier) }
}
