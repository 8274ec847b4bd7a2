import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Gives another thread a chance to run.
package func yieldProcessor() { sched_yield() }

/// The same, for longer: for other threads that are not runnable yet.
package func leaveProcessor(forMicroseconds duration: UInt32 = 50) {
    // A sleep is a cancellation point, and threads that wait here may have been cancelled: see CancelledThreadTests.
    #if !canImport(Android)
        var state: Int32 = 0
        pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), &state)
        defer { pthread_setcancelstate(state, nil) }
    #endif
    usleep(duration)
}

/// The open descriptors and the threads of this process, from the kernel.
package enum Kernel {
    package static var descriptors: Int { entries(of: "/proc/self/fd") - 1 }  // Reading the directory opens one.
    package static var threads: Int { entries(of: "/proc/self/task") }

    /// The kernel's name of the calling thread.
    package static var threadName: String {
        let text = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "?"
        return String(text.dropLast())  // the line's end
    }

    /// Whether this process was built with ThreadSanitizer or AddressSanitizer.
    package static var hasSanitizer: Bool {
        ["__tsan_init", "__asan_init"].contains { (symbol: String) in dlsym(nil, symbol) != nil }
    }

    /// How many threads of this process have a name.
    package static func threads(named name: String) -> Int {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        // A thread that has ended meanwhile has no name.
        return threads.count {
            (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)) == name + "\n"
        }
    }

    /// The memory that this process has in use, in bytes.
    package static var residentBytes: Int { pages(1) * 4096 }

    /// The addresses that this process has mapped, in bytes, with or without memory behind them.
    package static var mappedBytes: Int { pages(0) * 4096 }

    private static func pages(_ field: Int) -> Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return field < fields.count ? Int(fields[field]) ?? 0 : 0
    }

    private static func entries(of folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? -1
    }
}
