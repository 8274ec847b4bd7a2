import Glibc
import RunLoopKit

/// Starts a shell command. Returns its number, and the end of a pipe from
/// which its output can be read.
func start(_ command: String) -> (process: pid_t, output: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { fatalError("no pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)

    var arguments = [strdup("/bin/sh"), strdup("-c"), strdup(command), nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let error = posix_spawn(
        &child, "/bin/sh", &actions, nil, &arguments, environ)
    guard error == 0 else { fatalError("no child") }
    close(ends[1])  // or the end of the output would never come
    return (child, ends[0])
}

let loop = Loop.current
let child = start("echo hello; echo world; exit 3")

let output = try Loop.FileDescriptorSource(
    owning: child.output
) { source, _ in
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(source.descriptor, &bytes, bytes.count)
    if count > 0 {
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        print(text, terminator: "")
    } else if count == 0 || errno != EINTR {
        source.invalidate()
    }
}
let result = LoopBound<Loop.ProcessSource.Exit?>(nil, on: loop)
let end = try Loop.ProcessSource(child.process) { _, exit in
    result.value = exit
}
loop.add(output, in: "child")
loop.add(end, in: "child")
loop.run(mode: "child", for: .seconds(60))  // until both are over
print(result.value.map { "\($0)" } ?? "still runs")
