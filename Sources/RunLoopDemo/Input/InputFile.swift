/// What a command reads: a file, or standard input.
struct InputFile {
    static let standardInput = InputFile("-")

    private let path: String

    /// - Parameter path: `-` is standard input.
    init(_ path: String) { self.path = path }

    /// As messages call it.
    var name: String { path == "-" ? "standard input" : path.debugDescription }

    /// Returns its descriptor. To be called before anything else makes one: if whoever started the program has closed
    /// standard input, the next descriptor that is made takes its number.
    func opened() throws(InputError) -> Int32 {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw InputError("cannot open \(name)", errno) }
        guard fcntl(descriptor, F_GETFD) >= 0 else { throw InputError("\(name) is closed") }
        return descriptor
    }

    func readFailed(_ errno: Int32) -> InputError { InputError("cannot read \(name)", errno) }
}

/// An input cannot be opened or read. The description is one line.
struct InputError: Error, CustomStringConvertible {
    let description: String

    fileprivate init(_ description: String) { self.description = description }

    fileprivate init(_ what: String, _ errno: Int32) { description = "\(what): \(String(cString: strerror(errno)))" }
}

/// All that is in a file; nil when there is none. (`Data(contentsOf:)` leaks its buffer when the file is empty.)
func readFile(_ file: String) throws(InputError) -> [UInt8]? {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw InputError("cannot read \(file.debugDescription)", errno) }
    defer { close(descriptor) }
    var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 12))
    while true {
        let count = read(descriptor, &piece, piece.count)
        if count == 0 { return bytes }
        if count > 0 { bytes += piece[..<count] }
        if count < 0, errno != EINTR { throw InputError("cannot read \(file.debugDescription)", errno) }
    }
}
