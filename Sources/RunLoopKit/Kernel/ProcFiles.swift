internal import CLinux

extension System {
    /// The kernel's numbers of this process's threads; none without `/proc`.
    static var threadNumbers: [Int32] {
        guard let folder = opendir("/proc/self/task") else { return [] }
        var numbers: [Int32] = []
        let error = readAndClose(folder) { entry in
            if let number = Int32(String(cString: clinux_entry_name(entry))) { numbers.append(number) }
        }
        return error == 0 ? numbers : []
    }

    /// The first 4096 bytes of a file of `/proc`, as text; nil if the file cannot be read.
    static func readProcFile(_ path: String) -> String? {
        let file = clinux_open_for_reading(path)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let count = clinux_read(file, buffer.baseAddress, UInt(buffer.count))
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}
