import CAllocator

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What the process has between two windows, and how long posts to the probed loop have waited in the last one.
struct Sample {
    /// Since the scenario began.
    let seconds: Double
    /// In bytes: memory that is in use, and what the allocator has handed out (0 where it does not say).
    let resident, allocated: Int
    let descriptors, threads: Int
    /// From a post to the call of its block, in nanoseconds.
    let latency: Latency

    struct Latency {
        let p50, p99, max: Int64

        /// - Precondition: `values` is not empty.
        init(_ values: inout [Int64]) {
            values.sort()
            p50 = values[(values.count - 1) / 2]
            p99 = values[(values.count - 1) * 99 / 100]
            max = values[values.count - 1]
        }
    }

    init(seconds: Double, _ latency: Latency) {
        self.seconds = seconds
        self.latency = latency
        resident = OwnProcess.residentBytes
        allocated = callocator_allocated_bytes()
        descriptors = OwnProcess.descriptors
        threads = OwnProcess.threads
    }
}

/// This process, from the kernel.
enum OwnProcess {
    static var residentBytes: Int { number(1, in: "/proc/self/statm") * Int(getpagesize()) }

    // Reading the folder opens a descriptor.
    static var descriptors: Int { entries(of: "/proc/self/fd") - 1 }
    static var threads: Int { entries(of: "/proc/self/task") }

    /// Whether a sanitizer has the memory, and threads and descriptors of its own.
    static var hasSanitizer: Bool { dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil }

    private static func number(_ field: Int, in path: String) -> Int {
        var text = [UInt8](repeating: 0, count: 256)
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let count = read(file, &text, text.count)
        precondition(count > 0, "\(path) cannot be read")
        return Int(String(decoding: text[..<count].split(separator: UInt8(ascii: " "))[field], as: UTF8.self))!
    }

    private static func entries(of path: String) -> Int {
        guard let folder = opendir(path) else { preconditionFailure("\(path) cannot be read") }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count - 2  // The folder itself, and the one above.
    }
}
