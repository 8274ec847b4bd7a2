import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The kernel's description of a thread.
struct KernelThread: Equatable, Sendable {
    let nice: Int
    /// 0 `SCHED_OTHER`, 1 `SCHED_FIFO`, 2 `SCHED_RR`, 3 `SCHED_BATCH`, 5 `SCHED_IDLE`.
    let policy: Int
    let realtimePriority: Int
    let cpus: Set<Int>
    /// In nanoseconds.
    let timerSlack: Int64

    /// The calling thread.
    static var current: KernelThread {
        // The name, in parentheses, may contain any character; numbers follow it, from the third field on.
        let stat = text("/proc/thread-self/stat")
        let fields = stat[stat.lastIndex(of: ")")!...].split(separator: " ").dropFirst()
        func field(_ number: Int) -> Int { Int(fields[fields.startIndex + number - 3])! }
        // A link, "PID/task/ID". This file exists for processes, and for threads by their ids.
        let id = try! FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self").split(separator: "/")
            .last!
        return KernelThread(
            nice: field(19), policy: field(41), realtimePriority: field(40), cpus: allowedCPUs(),
            timerSlack: Int64(text("/proc/\(id)/timerslack_ns").dropLast())!)
    }

    /// The size of the calling thread's stack, in bytes, as the C library keeps it.
    static var stackSize: Int {
        // Hidden from Swift.
        typealias GetAttributes = @convention(c) (pthread_t, UnsafeMutablePointer<pthread_attr_t>) -> Int32
        let getAttributes = unsafeBitCast(dlsym(nil, "pthread_getattr_np"), to: GetAttributes.self)
        var attributes = pthread_attr_t()
        precondition(getAttributes(pthread_self(), &attributes) == 0)
        defer { pthread_attr_destroy(&attributes) }
        var size = 0
        pthread_attr_getstacksize(&attributes, &size)
        return size
    }

    /// Whether a thread of this process sleeps in the kernel, by its kernel id.
    static func isAsleep(_ id: Int32) -> Bool {
        let stat = text("/proc/self/task/\(id)/stat")
        return stat[stat.lastIndex(of: ")")!...].split(separator: " ")[1] == "S"
    }

    /// From a line such as `Cpus_allowed_list:  0-1,4`.
    private static func allowedCPUs() -> Set<Int> {
        let line = text("/proc/thread-self/status").split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }!
        let ranges = line.split(separator: "\t").last!.split(separator: ",")
        return ranges.reduce(into: []) { cpus, range in
            let ends = range.split(separator: "-").map { Int($0)! }
            cpus.formUnion(ends[0]...ends[ends.count - 1])
        }
    }

    private static func text(_ path: String) -> String { try! String(contentsOfFile: path, encoding: .utf8) }
}
