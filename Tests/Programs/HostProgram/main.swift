// A foreign loop, a plain poll(2), on the main thread. With "loop": it hosts Loop.main. With "queue": it hosts the main
// dispatch queue and nothing else. With "given-away": nobody hosts or runs Loop.main, and dispatchMain() ends its thread.
import Dispatch
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Whether a descriptor is readable, waiting for it if `waits`.
func isReadable(_ descriptor: Int32, waits: Bool) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, waits ? -1 : 0) > 0
}

var hasEnded = false

/// Posts to the main queue from another thread, once in each way, and then says that this was all.
func postFromElsewhere() {
    Thread.start {
        DispatchQueue.main.async { print("async") }
        DispatchQueue.main.sync { print("sync") }
        Task { @MainActor in
            print("main actor")
            await Task.yield()
            print("main actor again")
            hasEnded = true
        }
    }
}

/// Runs something on another thread.
enum Thread {
    static func start(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async(execute: body)
    }
}

switch CommandLine.arguments.dropFirst().first {
case "loop":
    let descriptor = try Loop.main.beginHosting()
    Loop.main.add(
        Loop.Timer(after: .milliseconds(1)) { _ in
            print("timer")
            postFromElsewhere()
        }, in: .default)
    while !hasEnded { if isReadable(descriptor, waits: true) { Loop.main.hostedPass() } }
    while isReadable(descriptor, waits: false) { Loop.main.hostedPass() }
    let passes = Loop.main.counters.passes
    print("quiet: \(!isReadable(descriptor, waits: false) && Loop.main.counters.passes == passes)")
case "queue":
    let descriptor = try Loop.mainQueueDescriptor()!
    postFromElsewhere()
    while !hasEnded { if isReadable(descriptor, waits: true) { Loop.serveMainQueue() } }
    // A job that runs the host, nested: what comes meanwhile waits for the end of the job, and the host does not spin.
    DispatchQueue.main.async {
        print("job begins")
        DispatchQueue.main.async { print("next job") }
        var turns = 0
        while isReadable(descriptor, waits: false), turns < 10 {
            Loop.serveMainQueue()
            turns += 1
        }
        print("job ends, the host was woken \(turns) times")
    }
    while isReadable(descriptor, waits: false) { Loop.serveMainQueue() }
    print("quiet")
case "given-away":
    Loop.main.perform { print("never") }
    print("accepted: \(Loop.main.perform {})")
    DispatchQueue.main.async {
        print("accepted: \(Loop.main.perform {})")
        exit(0)
    }
    dispatchMain()
default:
    print("usage: HostProgram loop|queue|given-away")
    exit(64)
}
