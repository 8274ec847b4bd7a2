internal import CLinux

extension System {
    /// Returns how many bytes come before the first one of a value; nil if there is none.
    static func offset(of byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int? {
        // Looks at many bytes at once.
        guard let start = bytes.baseAddress, let found = memchr(start, Int32(byte), bytes.count) else { return nil }
        return UnsafeRawPointer(found) - start
    }
}
