import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A program could not be started.
public struct StartFailure: Error, CustomStringConvertible {
    /// The call or the program, and the error's text.
    public let description: String

    init(_ call: String, _ code: Int32) { description = "\(call): \(String(cString: strerror(code)))" }
}

/// A child process, and the end of the pipe that it writes its standard output and its standard error to.
struct Child {
    let process: Int32
    let output: Int32

    /// Starts a program. Its standard input is empty.
    init(running command: [String]) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw StartFailure("pipe", errno) }
        // Other children must not inherit the ends.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor)
        }
        // The program may have been started with blocked signals, which the child would inherit.
        var attributes = posix_spawnattr_t()
        var none = sigset_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let arguments = command.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, command[0], &actions, &attributes, arguments + [nil], environ)
        guard code == 0 else {
            close(ends[0])
            throw StartFailure(command[0], code)
        }
        self.process = process
        output = ends[0]
    }
    /// Ends and reaps a child that cannot be watched.
    func abandon() {
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
        close(output)
    }
}
