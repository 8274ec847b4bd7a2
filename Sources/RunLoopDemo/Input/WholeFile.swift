/// The content of a regular file, which takes no longer than the disk; nil if the file does not exist.
/// (`Data(contentsOf:)` leaks its buffer when the file is empty.)
///
/// - Parameter limit: The most bytes that the file may have.
func readFile(_ file: String, limit: Int = 16 << 20) throws(InputError) -> [UInt8]? {
    let what = "cannot read \(file.debugDescription)"
    // Non-blocking: otherwise `open` would wait for a writer of a named pipe, and no signal ends that wait.
    let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw InputError(what, errno) }
    defer { close(descriptor) }
    try checkIsRegular(descriptor, what)
    var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
    while true {
        let count = read(descriptor, &piece, piece.count)
        if count == 0 { return bytes }
        if count > 0 { bytes += piece[..<count] }
        if count < 0, errno != EINTR { throw InputError(what, errno) }
        if bytes.count > limit { throw InputError("\(what): larger than \(limit >> 20) MiB") }
    }
}

private func checkIsRegular(_ descriptor: Int32, _ what: String) throws(InputError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw InputError(what, errno) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return
    case S_IFDIR: throw InputError(what, EISDIR)
    default: throw InputError("\(what): not a regular file")
    }
}
