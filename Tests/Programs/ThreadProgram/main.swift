// Threads in a process of their own. With "options": without the permission for any option. With "pool": without
// descriptors for all threads of a pool. With a word of `ThreadEnds`: a thread that the library has not made ends.
import RunLoopKit

#if canImport(Glibc)
    import Glibc
    typealias Resource = __rlimit_resource_t
    let descriptors = Resource(RLIMIT_NOFILE.rawValue)
#elseif canImport(Musl)
    import Musl
    typealias Resource = Int32
    let descriptors = RLIMIT_NOFILE
#elseif canImport(Android)
    import Android
    typealias Resource = Int32
    let descriptors = RLIMIT_NOFILE
#endif

// Linux's numbers, hidden from Swift.
let niceLimit: Resource = 13  // RLIMIT_NICE
let priorityLimit: Resource = 14  // RLIMIT_RTPRIO

@_silgen_name("capget") func capget(_ header: UnsafePointer<UInt32>, _ data: UnsafeMutablePointer<UInt32>) -> Int32
@_silgen_name("capset") func capset(_ header: UnsafePointer<UInt32>, _ data: UnsafePointer<UInt32>) -> Int32

/// Removes from the calling thread, and from those that it makes, root's permissions over the scheduler. Only
/// capabilities: a leak checker could not examine another user's process.
func dropPermissions() {
    let header: [UInt32] = [0x2008_0522, 0]  // The version with 64 bits; this thread.
    var sets = [UInt32](repeating: 0, count: 6)  // Effective, permitted, inheritable: the lower halves, then the upper.
    let niceness: UInt32 = 1 << 23  // CAP_SYS_NICE
    precondition(capget(header, &sets) == 0)
    for index in 0..<3 { sets[index] &= ~niceness }
    precondition(capset(header, sets) == 0)
    for resource in [niceLimit, priorityLimit] {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        precondition(setrlimit(resource, &none) == 0)
    }
}

/// Limits this process to opening `count` more descriptors.
func limitDescriptors(toFree count: Int) {
    var limit = rlimit()
    getrlimit(descriptors, &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(descriptors, &limit)
    // The kernel hands out the lowest free numbers, and the limit is on the numbers.
    let probes = (0...count).map { _ in dup(0) }
    for probe in probes { close(probe) }
    limit.rlim_cur = rlim_t(probes[count])
    setrlimit(descriptors, &limit)
}

func entries(of folder: String) -> [String] {
    let handle = opendir(folder)!
    defer { closedir(handle) }
    var names: [String] = []
    while let entry = readdir(handle) {
        names.append(
            withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names
}

/// Whether the process has threads with the name that all threads here have; sanitizers have others of their own.
func hasThreads() -> Bool {
    entries(of: "/proc/self/task").contains { id in
        // A thread that has ended meanwhile cannot be opened.
        guard let file = fopen("/proc/self/task/\(id)/comm", "r") else { return false }
        defer { fclose(file) }
        var bytes = [CChar](repeating: 0, count: 16)
        fread(&bytes, 1, 15, file)
        return bytes.starts(with: threadName.utf8.map { CChar($0) })
    }
}

/// The kernel removes a joined thread from its list a moment after the join. A thread left behind would keep this
/// waiting.
func waitUntilThreadsAreGone() { while hasThreads() { sched_yield() } }

func report(_ name: String, _ body: () throws -> Void) {
    do {
        try body()
        print("\(name): no error")
    } catch {
        print("\(name): \(error)")
    }
}

let threadName = "mine"
switch CommandLine.arguments.dropFirst().first {
case "options":
    dropPermissions()
    report("fifo") { _ = try LoopThread(options: .init(name: threadName, scheduling: .fifo(priority: 10))) }
    report("round robin") { _ = try LoopThread(options: .init(name: threadName, scheduling: .roundRobin(priority: 1))) }
    report("nice") { _ = try LoopThread(options: .init(name: threadName, nice: -5)) }
    report("pool") {
        _ = try LoopThreadPool(count: 3, options: .init(name: threadName, scheduling: .fifo(priority: 10)))
    }
    let thread = try LoopThread(
        options: .init(
            name: threadName, nice: -5, scheduling: .fifo(priority: 10), timerSlack: .zero, onRefusal: .runAnyway))
    print("refused: \(thread.refusedOptions.map(\.call))")
    print("runs: \(try thread.performAndWait { thread.isCurrent }), seen: \(hasThreads())")
    thread.stop()
    thread.join()
case "pool":
    _ = Loop.current  // Creates what the library creates only once.
    report("pool") {
        let pool = try LoopThreadPool(count: 2, options: .init(name: threadName))
        pool.stop()
        pool.join()
    }
    let before = entries(of: "/proc/self/fd").count
    // Enough for some threads, not for all.
    limitDescriptors(toFree: 10)
    report("pool") { _ = try LoopThreadPool(count: 8, options: .init(name: threadName)) }
    limitDescriptors(toFree: 64)
    print("descriptors left behind: \(entries(of: "/proc/self/fd").count - before)")
case let word:
    guard let end = word.flatMap(ThreadEnds.init) else {
        print("usage: ThreadProgram options|pool|\(ThreadEnds.allCases.map(\.rawValue).joined(separator: "|"))")
        exit(64)
    }
    end.play()
}
waitUntilThreadsAreGone()
print("no thread left behind")
