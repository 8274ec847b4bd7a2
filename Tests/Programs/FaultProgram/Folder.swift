#if DEBUG
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// A new folder in which a child plays, so that its files may have plain names.
    ///
    /// The parent removes it: a child may trap, or may be unable to remove its files.
    struct Folder {
        private let path: String

        init() {
            var path = Array("/tmp/RunLoopKit-XXXXXX".utf8CString)
            precondition(mkdtemp(&path) != nil)
            self.path = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        }

        func enter() { precondition(chdir(path) == 0) }

        func remove() { Folder.remove(path) }

        private static func remove(_ path: String) {
            // Either a file or a link, or an empty folder.
            if unlink(path) == 0 || rmdir(path) == 0 { return }
            guard let folder = opendir(path) else { return }
            defer { closedir(folder) }
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { remove(path + "/" + name) }
            }
            rmdir(path)
        }
    }
#endif
