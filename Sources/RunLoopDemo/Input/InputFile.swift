/// What a command reads: a file, or standard input.
struct InputFile {
    static let standardInput = InputFile("-")

    private let path: String

    /// - Parameter path: `-` is standard input.
    init(_ path: String) { self.path = path }

    /// As messages call it.
    var name: String { path == "-" ? "standard input" : path.debugDescription }

    /// Returns its descriptor. A named pipe that nothing writes to yet is waited for: to be called before signals are
    /// handled, so that they end that.
    func opened() throws(InputError) -> Int32 {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw InputError("cannot open \(name)", errno) }
        let isReadable = fcntl(descriptor, F_GETFL) & O_ACCMODE != O_WRONLY
        // What `StandardDescriptors` puts in the place of a closed one cannot be read.
        guard isReadable else { throw InputError("\(name) is closed, or not open for reading") }
        return descriptor
    }

    func readFailed(_ errno: Int32) -> InputError { InputError("cannot read \(name)", errno) }
}
