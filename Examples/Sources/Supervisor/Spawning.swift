#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

struct SpawnError: Error, CustomStringConvertible { let description: String }

/// Starts a program in a process group of its own, with no signal blocked, even if this program was started with
/// blocked ones.
func spawn(_ command: [String]) throws -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
    let arguments = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let error = posix_spawnp(&child, command[0], nil, &attributes, arguments, environ)
    guard error == 0 else { throw SpawnError(description: "\(command[0]): \(String(cString: strerror(error)))") }
    return child
}
