#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A second process, this program again, that takes a CPU for itself until this process ends, or ends it.
struct Neighbour {
    /// The only argument of the second process.
    static let word = "be-the-neighbour"

    private let process: pid_t
    /// The pipe's writing end, which no other child gets.
    private let writer: Int32

    init() {
        let pipe = Pipe()
        #if canImport(Glibc) || canImport(Musl)
            var actions = posix_spawn_file_actions_t()
        #else
            var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, pipe.reader, 0)
        var words = [strdup(CommandLine.arguments[0]), strdup(Neighbour.word), nil]
        var process: pid_t = 0
        let code = posix_spawn(&process, "/proc/self/exe", &actions, nil, &words, environ)
        precondition(code == 0, "no second process: error \(code)")
        posix_spawn_file_actions_destroy(&actions)
        for word in words { free(word) }
        close(pipe.reader)
        (self.process, writer) = (process, pipe.writer)
    }

    func end() {
        close(writer)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    /// Burns until the pipe is at its end.
    static func burn() -> Never {
        var watched = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
        var state: UInt64 = 1
        while poll(&watched, 1, 0) == 0 {
            for _ in 0..<1_000_000 { state = state &* 6_364_136_223_846_793_005 &+ 1 }
        }
        exit(state == 0 ? 1 : 0)
    }
}
