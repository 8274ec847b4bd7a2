import Foundation

/// Threads that start programs beside the tests, one after another, as other tests do now and then.
///
/// Until its exec, a new process has copies of all descriptors of its parent, of those that close on exec too. So a
/// pipe is at its end only a while after its last descriptor was closed, if another test happened to start a program
/// before that. These threads make that the rule: a test that does not wait for the end of its pipe fails.
package enum SpawningNeighbour {
    /// The environment variable that starts the threads, with any value.
    package static let variable = "RUNLOOPKIT_TEST_SPAWNS"

    /// Starts the threads with the first test, if the variable is set.
    static func startIfAsked() { _ = isStarted }

    private static let isStarted: Bool = {
        guard ProcessInfo.processInfo.environment[variable] != nil else { return false }
        for _ in 0..<2 { Thread.detachNewThread { run() } }
        return true
    }()

    /// The new processes live for about a millisecond, no longer than a test has its pipe: a process that lives longer
    /// than that was mostly made before the pipe.
    private static func run() -> Never {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        for _ in 0..<700 { posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) }
        // Ends the process instead of an exec, which would take as long as all that is before.
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null/none", O_RDONLY, 0)
        var words = [strdup("none"), nil]
        var number: pid_t = 0
        while true {
            let code = posix_spawn(&number, "/dev/null/none", &actions, nil, &words, environ)
            precondition(code != 0, "the last of the file actions cannot succeed")
        }
    }
}
