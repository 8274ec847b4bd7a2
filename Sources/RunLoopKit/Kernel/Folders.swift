internal import CLinux

extension System {
    /// Calls `body` with each entry of an open folder, and closes that. Returns the error that ended the reading; 0 if
    /// the folder has been read to its end.
    static func readAndClose(_ folder: OpaquePointer, _ body: (UnsafePointer<dirent>) -> Void) -> Int32 {
        defer { closedir(folder) }
        while true {
            // At the end it stays as it is.
            clinux_set_errno(0)
            guard let entry = readdir(folder) else { return clinux_errno() }
            body(entry)
        }
    }

    /// The names in a folder, and which are folders.
    ///
    /// - Parameter path: The bytes of a path, and a zero.
    static func contents(ofFolder path: [UInt8]) throws(LoopError) -> [(name: [UInt8], isFolder: Bool)] {
        guard let folder = path.withUnsafeBytes({ opendir($0.assumingMemoryBound(to: CChar.self).baseAddress!) }) else {
            throw failure("opendir", path)
        }
        var contents: [(name: [UInt8], isFolder: Bool)] = []
        let error = readAndClose(folder) { entry in
            let name = bytes(of: clinux_entry_name(entry))
            if name != [0x2E], name != [0x2E, 0x2E] { contents.append((name, clinux_entry_is_folder(folder, entry))) }
        }
        if error != 0 { throw failure("readdir", path, error) }
        return contents
    }

    private static func failure(_ call: String, _ path: [UInt8], _ code: Int32 = lastError) -> LoopError {
        LoopError(call: "\(call)(\(String(decoding: path.dropLast(), as: UTF8.self).printable))", code: code)
    }

    private static func bytes(of text: UnsafePointer<CChar>) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }

    /// The path without links and `..`, or nil.
    static func resolved(_ path: [UInt8]) -> [UInt8]? {
        guard
            let resolved = path.withUnsafeBytes({
                clinux_resolved_path($0.assumingMemoryBound(to: CChar.self).baseAddress!)
            })
        else { return nil }
        defer { clinux_free(resolved) }
        return bytes(of: resolved)
    }
}
