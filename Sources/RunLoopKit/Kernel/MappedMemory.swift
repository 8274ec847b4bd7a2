internal import CLinux

extension System {
    /// Maps memory of zero bytes, which takes physical memory only where it is written. Aligned to a page.
    package static func mapZeroBytes(_ count: Int) -> UnsafeMutableRawPointer {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        // Not imported.
        let failed = UnsafeMutableRawPointer(bitPattern: -1)
        guard let memory = mmap(nil, count, PROT_READ | PROT_WRITE, flags, -1, 0), memory != failed else {
            let error = LoopError(call: "mmap(\(count) bytes)")
            fatalError("RunLoopKit: \(error). Ask for less memory, or raise the limit.")
        }
        return memory
    }

    /// Unmaps what `mapZeroBytes` has mapped.
    package static func unmap(_ memory: UnsafeMutableRawPointer, _ count: Int) { munmap(memory, count) }
}
