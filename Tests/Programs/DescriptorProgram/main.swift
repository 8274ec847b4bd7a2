// A loop without descriptors, in a process with no other thread that could open or close one. With "errors": each
// system call fails, in turn. With "run": runs a loop that has none. With "many": a loop with ten thousand. With
// "children": what child processes take. With "streams": none of the library's has the number of a closed stream.
import RunLoopKit

#if canImport(Glibc)
    import Glibc
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#elseif canImport(Musl)
    import Musl
    let resource = RLIMIT_NOFILE
#elseif canImport(Android)
    import Android
    let resource = RLIMIT_NOFILE
#endif

/// Limits this process to opening `count` more descriptors.
func limitDescriptors(toFree count: Int) {
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
    // The kernel hands out the lowest free numbers, and the limit is on the numbers.
    let probes = (0...count).map { _ in dup(0) }
    for probe in probes { close(probe) }
    limit.rlim_cur = rlim_t(probes[count])
    setrlimit(resource, &limit)
}

func report(_ name: String, _ body: () throws -> Void) {
    do {
        try body()
        print("\(name): no error")
    } catch {
        print("\(name): \(error)")
    }
}

/// Raises the limit of this process; returns false if that does not suffice.
func allowDescriptors(_ count: Int) -> Bool {
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
    return limit.rlim_max >= count
}

/// Both ends of 5,000 pairs of sockets, each watched: a byte sent to one makes the other ready.
func serveTenThousand() throws {
    let pairs = 5000
    guard allowDescriptors(2 * pairs + 100) else {
        return print("skipped: the hard limit of descriptors is too low")
    }
    let loop = Loop.current
    let served = LoopBound(0, on: loop)
    var sources: [Loop.FileDescriptorSource] = []
    for _ in 0..<pairs {
        var ends: [Int32] = [-1, -1]
        #if canImport(Glibc)
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        #else
            socketpair(AF_UNIX, Int32(SOCK_STREAM), 0, &ends)
        #endif
        for end in ends {
            let source = try Loop.FileDescriptorSource(owning: end) { source, ready in
                var byte: UInt8 = 0
                served.value += read(source.descriptor, &byte, 1)
            }
            sources.append(source)
            loop.add(source, in: .default)
        }
    }
    /// The loop's work for one event, and for finding that there is no other.
    func serve(_ source: Loop.FileDescriptorSource) -> String {
        let before = loop.counters
        write(source.descriptor, "x", 1)
        while loop.run(mode: .default, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
        return "\(loop.counters.passes - before.passes) passes, \(loop.counters.polls - before.polls) polls"
    }
    print("\(sources.count) sources")
    print(serve(sources[0]))
    print("the same for each: \(Set(sources.map { serve($0) }).count == 1), served \(served.value)")
    for source in sources { write(source.descriptor, "x", 1) }
    while served.value < 20_001 { loop.run(mode: .default, for: .seconds(3600), returnAfterSourceHandled: true) }
    print("all at once: served \(served.value)")
    for source in sources { source.invalidate() }
    print("descriptors closed: \(sources.allSatisfy { $0.descriptor == -1 })")
}

if CommandLine.arguments.dropFirst().first == "many" {
    try serveTenThousand()
    exit(0)
}

if CommandLine.arguments.dropFirst().first == "children" {
    try countChildren()
    exit(0)
}

if CommandLine.arguments.dropFirst().first == "streams" {
    try useInputsWithoutStreams()
    _exit(0)
}

let loop = Loop.current
var ends: [Int32] = [-1, -1]
pipe(&ends)
loop.perform {}
loop.wakeUp()
limitDescriptors(toFree: 0)
if CommandLine.arguments.dropFirst().first == "run" {
    loop.run(mode: .default, for: .zero)
} else {
    report("port") { _ = try Loop.PortSource { _ in } }
    report("thread") { _ = try LoopThread() }
    report("owned pipe") { _ = try Loop.FileDescriptorSource(owning: ends[0]) { _, _ in } }
    // One at a time, the main dispatch queue's first: the loop keeps those that it has opened before.
    for free in [0, 1, 1, 1, 1] {
        limitDescriptors(toFree: free)
        report("prepare") { try loop.prepare("other") }
    }
    limitDescriptors(toFree: 64)
    report("prepare") { try loop.prepare(.default) }
    limitDescriptors(toFree: 0)
    print("\(loop.run(mode: .default, for: .zero))")
    limitDescriptors(toFree: 64)  // A leak checker at the process's end needs some too.
}
