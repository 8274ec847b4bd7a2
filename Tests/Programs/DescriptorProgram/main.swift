// What a loop does without descriptors, in a process with no other thread that could open or close one meanwhile. With "errors": each
// call that can fail, in turn. With "run": runs a loop that has none.
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

/// Lets this process open so many more descriptors.
func limitDescriptors(toFree count: Int) {
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

func report(_ name: String, _ body: () throws -> Void) {
    do {
        try body()
        print("\(name): no error")
    } catch {
        print("\(name): \(error)")
    }
}

let loop = Loop.current
loop.perform {}
loop.wakeUp()
limitDescriptors(toFree: 0)
if CommandLine.arguments.dropFirst().first == "run" {
    loop.run(mode: .default, for: .zero)
} else {
    report("port") { _ = try Loop.PortSource { _ in } }
    report("thread") { _ = try LoopThread() }
    // One at a time, the main dispatch queue's first: what has been had before is kept.
    for free in [0, 1, 1, 1] {
        limitDescriptors(toFree: free)
        report("prepare") { try loop.prepare("other") }
    }
    limitDescriptors(toFree: 64)
    report("prepare") { try loop.prepare(.default) }
    limitDescriptors(toFree: 0)
    print("\(loop.run(mode: .default, for: .zero))")
    limitDescriptors(toFree: 64)  // A leak checker at the process's end wants some too.
}
