#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

import LoopTestSupport
import TestSupport

/// A child process. The test waits for it.
final class Child: Sendable {
    let number: Int32
    private let hold: Ends?

    /// `input` becomes the child's descriptor 3, `output` its standard output.
    init(_ path: String, _ arguments: [String], input: Int32, output: Int32? = nil, hold: Ends? = nil) {
        number = try! spawn(path, [path] + arguments) { actions in
            posix_spawn_file_actions_adddup2(&actions, input, 3)
            if let output { posix_spawn_file_actions_adddup2(&actions, output, 1) }
        }
        self.hold = hold
    }

    /// A shell that waits for `goOn()`.
    static func waiting(then script: String) -> Child {
        let hold = Ends.blockingPipe()
        return Child("/bin/sh", ["-c", "read line <&3; \(script)"], input: hold.reader, hold: hold)
    }

    func goOn() { hold?.send("\n") }
}

/// Whether a child has ended and has not been reaped.
func isZombie(_ number: Int32) -> Bool {
    var info = siginfo_t()
    return waitid(P_PID, id_t(number), &info, Int32(WEXITED | WNOWAIT | WNOHANG)) == 0 && info.si_signo == SIGCHLD
}

/// Whether a process is a child of this one that has not been reaped, whether it runs or has ended.
func isChild(_ number: Int32) -> Bool {
    var info = siginfo_t()
    return waitid(P_PID, id_t(number), &info, Int32(WEXITED | WNOWAIT | WNOHANG)) == 0
}

/// Stops a child, as Ctrl-Z does, and waits until it has stopped.
func suspend(_ number: Int32) {
    kill(number, SIGSTOP)
    var info = siginfo_t()
    while waitid(P_PID, id_t(number), &info, Int32(WSTOPPED | WNOWAIT)) < 0, errno == EINTR {}
}

/// Ends a child by SIGKILL.
func end(_ number: Int32) { kill(number, SIGKILL) }
