import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension Operation {
    /// One event in a folder, from the system call that causes it to the end of the run that reports it.
    static let folders = [
        Operation("folder-event-and-run") { loop in
            let file = FileInAFolder()
            loop.add(try Loop.FolderSource(file.folder, options: .attributes) { _, _ in })
            return { count in
                for _ in 0..<count {
                    file.change()
                    loop.run(for: .zero)
                }
            }
        }
    ]
}

/// A file in a folder of its own, both deleted when this is deallocated.
private final class FileInAFolder {
    let folder: String
    private let path: String

    init() {
        var template = Array("/tmp/operation-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil)
        folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        path = folder + "/file"
        precondition(mknod(path, S_IFREG | 0o600, 0) == 0)
    }

    deinit {
        unlink(path)
        rmdir(folder)
    }

    /// Changes an attribute of the file.
    func change() { chmod(path, 0o600) }
}
