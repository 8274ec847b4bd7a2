import Foundation

/// A program could not be started.
package struct SpawnError: Error {
    /// As in `errno`.
    package let code: Int32

    package init(code: Int32) { self.code = code }
}

/// Starts a program, and returns its process id. The caller waits for it.
///
/// Not Foundation's `Process`: that looks at all descriptors of this process when it starts a program, and has crashed
/// beside tests that open many.
///
/// The program inherits descriptors that do not close on exec, as `prepare` leaves them. It blocks and ignores no
/// signals.
///
/// - Parameters:
///   - words: The program's name for itself and its arguments.
///   - environment: All variables of the program; nil for those of this process.
///   - leadsSession: Whether the program begins a session, which the first terminal that it opens belongs to.
///   - prepare: Adds what happens to the program's descriptors before its exec.
package func spawn(
    _ path: String, _ words: [String], environment: [String: String]? = nil, leadsSession: Bool = false,
    prepare: (inout posix_spawn_file_actions_t) -> Void
) throws(SpawnError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    prepare(&actions)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    // POSIX_SPAWN_SETSID, which the Swift module of the C library lacks.
    let session: Int16 = leadsSession ? 0x80 : 0
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | session)
    var process: pid_t = 0
    let code = withStrings(words) { words in
        guard let environment else { return posix_spawn(&process, path, &actions, &attributes, words, environ) }
        return withStrings(environment.map { "\($0.key)=\($0.value)" }) {
            posix_spawn(&process, path, &actions, &attributes, words, $0)
        }
    }
    guard code == 0 else { throw SpawnError(code: code) }
    return process
}

/// Calls `body` with a null-terminated array of C strings.
private func withStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
}

/// Waits until a child has ended, and leaves its status to other code.
package func waitForEnd(of number: pid_t) {
    var info = siginfo_t()
    while waitid(P_PID, id_t(number), &info, Int32(WEXITED | WNOWAIT)) < 0, errno == EINTR {}
}

/// Waits for a child and reaps it. Returns its exit code, or minus the signal that ended it.
@discardableResult
package func reap(_ number: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(number, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : -signal
}

/// Whether a child that has not been reaped has ended.
package func hasEnded(_ number: pid_t) -> Bool {
    var info = siginfo_t()
    waitid(P_PID, id_t(number), &info, Int32(WEXITED | WNOWAIT | WNOHANG))
    return info.si_signo == SIGCHLD
}
