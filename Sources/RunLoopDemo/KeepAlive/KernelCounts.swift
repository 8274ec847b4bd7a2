/// The kernel resources of this process: its threads and its descriptors, as the kernel counts them.
struct KernelCounts: Equatable {
    let threads: Int
    let descriptors: Int

    /// - Throws: `Unreadable` where there is no `/proc`.
    static func now() throws -> KernelCounts {
        // Reading the directory of the descriptors takes one.
        KernelCounts(threads: try entries(of: "/proc/self/task"), descriptors: try entries(of: "/proc/self/fd") - 1)
    }

    /// The counts, after a moment in which they may become the expected ones.
    ///
    /// A join returns when the thread has released its memory; the kernel removes the thread from its list right after
    /// that, up to a few microseconds later.
    static func settled(expecting expected: KernelCounts) throws -> KernelCounts {
        _ = try poll(for: .seconds(2)) { try now() == expected }
        return try now()
    }

    /// A directory of `/proc` that could not be read.
    struct Unreadable: Error, CustomStringConvertible {
        let path: String
        let code = errno

        var description: String { "cannot read \(path): \(String(cString: strerror(code)))" }
    }

    private static func entries(of path: String) throws -> Int {
        guard let directory = opendir(path) else { throw Unreadable(path: path) }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // The directory itself and its parent are listed too.
        return count - 2
    }
}

extension KernelCounts: CustomStringConvertible {
    var description: String { "\(threads.counted("thread")), \(descriptors.counted("descriptor"))" }
}
