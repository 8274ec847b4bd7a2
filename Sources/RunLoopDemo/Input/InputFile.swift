/// The input of a command: a file, or standard input.
struct InputFile {
    static let standardInput = InputFile("-")

    private let path: String

    /// - Parameter path: `-` is standard input.
    init(_ path: String) { self.path = path }

    /// Its name in messages.
    var name: String { path == "-" ? "standard input" : path.debugDescription }

    /// Returns its descriptor. Waits for a writer of a named pipe; call it before signals are handled, so that a signal
    /// ends that wait.
    func opened() throws(InputError) -> Int32 {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw InputError("cannot open \(name)", errno) }
        let isReadable = fcntl(descriptor, F_GETFL) & O_ACCMODE != O_WRONLY
        // The replacement that `StandardDescriptors` opens for a closed descriptor cannot be read.
        guard isReadable else { throw InputError("\(name) is closed, or not open for reading") }
        return descriptor
    }

    func readFailed(_ errno: Int32) -> InputError { InputError("cannot read \(name)", errno) }
}
