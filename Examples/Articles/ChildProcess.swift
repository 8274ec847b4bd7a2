import Glibc
import RunLoopKit

/// Starts a shell command in a process group of its own, and with no
/// signal blocked, even if this program was started with blocked ones.
func spawn(_ command: String) -> pid_t? {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
        &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))

    var arguments: [UnsafeMutablePointer<CChar>?] = []
    for argument in ["/bin/sh", "-c", command] {
        arguments.append(strdup(argument))
    }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let error = posix_spawn(
        &child, "/bin/sh", nil, &attributes, &arguments, environ)
    return error == 0 ? child : nil
}

let loop = Loop.current
for command in ["exit 3", "kill -9 $$"] {
    guard let child = spawn(command) else { fatalError("no child") }
    let source = try Loop.ProcessSource(child) { _, exit in
        print("\"\(command)\": \(exit)")
    }
    loop.add(source, in: "children")
    loop.run(mode: "children", for: .seconds(10))  // until it has ended
}
