import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Gives another thread a chance to run.
func yieldProcessor() { sched_yield() }

/// How many more descriptors this process may open, for tests of what happens without any. Only in processes of their
/// own.
func limitDescriptors(toFree count: Int) {
    #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        let resource = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
    // The kernel gives out the lowest free numbers, and the limit is on the numbers.
    let probes = (0...count).map { _ in dup(0) }
    for probe in probes { close(probe) }
    limit.rlim_cur = rlim_t(probes[count])
    setrlimit(resource, &limit)
}

/// The descriptors that this process has open, and the threads it has, from the kernel.
enum Kernel {
    static var descriptors: Int { entries(of: "/proc/self/fd") - 1 }  // One is for looking.
    static var threads: Int { entries(of: "/proc/self/task") }

    /// What the kernel calls the calling thread.
    static var threadName: String {
        let text = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "?"
        return String(text.dropLast())  // the line's end
    }

    /// Whether this process was built with ThreadSanitizer or AddressSanitizer.
    static var hasSanitizer: Bool {
        ["__tsan_init", "__asan_init"].contains { (symbol: String) in dlsym(nil, symbol) != nil }
    }

    /// The memory that this process has in use, in bytes.
    static var residentBytes: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * 4096
    }

    private static func entries(of folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? -1
    }
}
