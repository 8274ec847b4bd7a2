/// Writes a text to a file. A regular file has the whole text afterwards or, if this throws, what it had before. Other
/// files, such as pipes and devices, get the text as far as they take it. An interruption ends the wait for them.
func writeFile(_ text: String, to path: String) throws(FileNotWritten) {
    var status = stat()
    if stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG {
        return try replaceFile(path, with: Array(text.utf8))
    }
    let descriptor = try openUnblocked(path, isPipe: status.st_mode & S_IFMT == S_IFIFO)
    let failure = writeAll(text, to: descriptor)
    let closing = close(descriptor) == 0 ? nil : errno
    switch failure {
    case nil: if let closing { throw FileNotWritten(path, closing) }
    case .interrupted: throw FileNotWritten(path, EINTR)
    case .error(let error): throw FileNotWritten(path, error)
    }
}

/// Opens a file that is not regular, so that no write blocks. Waits until a named pipe has a reader: without one, such
/// an `open` fails (ENXIO). A signal would not end one that blocks.
private func openUnblocked(_ path: String, isPipe: Bool) throws(FileNotWritten) -> Int32 {
    while true {
        let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        if descriptor >= 0 { return descriptor }
        guard isPipe, errno == ENXIO else { throw FileNotWritten(path, errno) }
        guard waitForAMoment() else { throw FileNotWritten(path, EINTR) }
    }
}

/// Replaces a file's content in one step, or makes the file: a reader finds the old content or the new, even if the
/// program or the machine stops meanwhile.
///
/// Writes the content to a new file in the same directory, and so in the same file system, syncs it, and then renames
/// it. Permissions stay the same; a link still leads to the file.
func replaceFile(_ path: String, with bytes: [UInt8]) throws(FileNotWritten) {
    let place = followingLinks(path)
    let temporary = "\(place).\(UInt32.random(in: .min ... .max)).new"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw FileNotWritten(path, errno) }
    let failure = fill(descriptor, with: bytes, like: place) ?? (rename(temporary, place) == 0 ? nil : errno)
    if let failure {
        unlink(temporary)
        throw FileNotWritten(path, failure)
    }
    // Syncs the name too. A file system that cannot has replaced the file nevertheless.
    let end = place.lastIndex(of: "/")
    let folder = open(end.map { String(place[...$0]) } ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if folder >= 0 {
        fsync(folder)
        close(folder)
    }
}

/// A file could not be written. The description is one line.
struct FileNotWritten: Error, CustomStringConvertible {
    let description: String

    fileprivate init(_ path: String, _ errno: Int32) {
        description = "cannot write \(path.debugDescription): \(String(cString: strerror(errno)))"
    }
}

/// Writes all of the content, syncs it and closes the descriptor. Returns the errno of the call that failed.
private func fill(_ descriptor: Int32, with bytes: [UInt8], like place: String) -> Int32? {
    var failure: Int32?
    var old = stat()
    if stat(place, &old) == 0, fchmod(descriptor, old.st_mode & 0o7777) != 0 { failure = errno }
    var rest = bytes[...]
    while failure == nil, !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count >= 0 { rest = rest.dropFirst(count) } else if errno != EINTR { failure = errno }
    }
    if failure == nil, fsync(descriptor) != 0 { failure = errno }
    if close(descriptor) != 0, failure == nil { failure = errno }
    return failure
}

/// The destination of a path that may be a link. Returns a link that does not lead to a file unchanged.
private func followingLinks(_ path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
}
