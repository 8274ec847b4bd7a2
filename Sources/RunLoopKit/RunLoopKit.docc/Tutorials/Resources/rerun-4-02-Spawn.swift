import Glibc

/// Starts a shell command in a process group of its own, with no signal blocked.
func spawn(_ command: String) throws -> pid_t {
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
    for argument in ["/bin/sh", "-c", command] { arguments.append(strdup(argument)) }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    let error = posix_spawn(
        &process, "/bin/sh", nil, &attributes, arguments, environ)
    guard error == 0 else {
        throw Failure(description: String(cString: strerror(error)))
    }
    return process
}
