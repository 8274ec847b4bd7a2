// A foreign loop on the main thread. With "loop": a plain poll(2) hosts Loop.main; with "edges": an edge-triggered
// epoll set does; with "not-common": in a mode that does not serve the main queue. With "callback": a host written as
// in C does, with a descriptor and a function. With "queue" or "queue-edges": it hosts the main dispatch queue and
// nothing else. With "within": a job runs the host. With "given-away", "dropped", "dropped-timer" or "end-handler": no
// host and no run serves Loop.main, and dispatchMain() ends its thread.
import CLinux
import Dispatch
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Whether a descriptor is readable; waits for that if `waits`.
func isReadable(_ descriptor: Int32, waits: Bool) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, waits ? -1 : 0) > 0
}

/// The same for a host that sees edges only.
struct EdgeHost {
    let set = epoll_create1(0)

    init(_ descriptor: Int32) {
        var event = epoll_event()
        event.events = CLINUX_EPOLLIN | CLINUX_EPOLLET
        epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event)
    }

    func isReadable(waits: Bool) -> Bool {
        var event = epoll_event()
        return epoll_wait(set, &event, 1, waits ? -1 : 0) > 0
    }
}

/// The interface of a host written in C: a function that captures nothing, and a pointer for it.
struct CallbackHost {
    let descriptor: Int32
    let callback: @convention(c) (_ descriptor: Int32, _ data: UnsafeMutableRawPointer?) -> Int32
    let data: UnsafeMutableRawPointer?

    /// Serves the loop until the function returns false.
    func run() { while !isReadable(descriptor, waits: true) || callback(descriptor, data) != 0 {} }
}

var hasEnded = false

/// Posts to the main queue from another thread, once in each way, and then reports the end.
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

/// Runs code on another thread.
enum Thread {
    static func start(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async(execute: body)
    }
}

switch CommandLine.arguments.dropFirst().first {
case let kind? where kind == "loop" || kind == "edges":
    let descriptor = try Loop.main.hosting.begin()
    let edges = kind == "edges" ? EdgeHost(descriptor) : nil
    func isReady(waits: Bool) -> Bool { edges?.isReadable(waits: waits) ?? isReadable(descriptor, waits: waits) }
    Loop.main.add(
        Loop.Timer(after: .milliseconds(1)) { _ in
            print("timer")
            postFromElsewhere()
        }, in: .default)
    while !hasEnded { if isReady(waits: true) { Loop.main.hosting.pass() } }
    while isReady(waits: false) { Loop.main.hosting.pass() }
    print("quiet: \(!isReadable(descriptor, waits: false))")
case "callback":
    let host = CallbackHost(
        descriptor: try Loop.main.hosting.begin(),
        callback: { _, _ in
            let result = Loop.main.hosting.pass()
            return MainActor.assumeIsolated { hasEnded && result == .idle } ? 0 : 1
        }, data: nil)
    Loop.main.add(Loop.Timer(after: .milliseconds(1)) { _ in postFromElsewhere() }, in: .default)
    host.run()
    Loop.main.hosting.end()
    print("host ends")
case let kind? where kind == "queue" || kind == "queue-edges":
    let descriptor = try Loop.mainQueueDescriptor()!
    let edges = kind == "queue-edges" ? EdgeHost(descriptor) : nil
    func isReady(waits: Bool) -> Bool { edges?.isReadable(waits: waits) ?? isReadable(descriptor, waits: waits) }
    postFromElsewhere()
    while !hasEnded { if isReady(waits: true) { Loop.serveMainQueue() } }
    // A job that runs the host, nested: other jobs wait for its end, and the host does not spin.
    DispatchQueue.main.async {
        print("job begins")
        DispatchQueue.main.async { print("next job") }
        var turns = 0
        while isReady(waits: false), turns < 10 {
            Loop.serveMainQueue()
            turns += 1
        }
        print("job ends, the host was woken \(turns) times")
    }
    while isReady(waits: false) { Loop.serveMainQueue() }
    print("quiet")
case "queue-first":
    // The first call of the library.
    DispatchQueue.main.async { print("job") }
    Loop.serveMainQueue()
    print("served")
case "within":
    // A job that runs the host, nested, in which a port's handler posts the next job.
    let descriptor = try Loop.main.hosting.begin()
    @Sendable func serve() { while isReadable(descriptor, waits: false) { Loop.main.hosting.pass() } }
    let port = try Loop.PortSource { _ in
        print("port")
        DispatchQueue.main.async { print("next job") }
    }
    Loop.main.add(port, in: .default)
    serve()
    DispatchQueue.main.async {
        port.send()
        serve()
        print("job ends")
    }
    serve()
    // The same, with a host that serves the queue without the loop.
    DispatchQueue.main.async {
        DispatchQueue.main.async { print("last job") }
        Loop.serveMainQueue()
        print("job ends")
    }
    serve()
    print("quiet")
case "not-common":
    // A host in a mode that does not serve the main queue sees the queue's edge, which is not raised again; then the
    // mode becomes one that does.
    let descriptor = try Loop.main.hosting.begin(in: "other")
    Loop.main.add(Loop.Source0 {}, in: "other")
    Loop.main.add(Loop.Timer(after: .zero) { _ in DispatchQueue.main.async { print("job") } }, in: "other")
    while isReadable(descriptor, waits: false) { Loop.main.hosting.pass() }
    Loop.main.hosting.end()
    print("not served")
    Loop.main.addCommonMode("other")
    Loop.main.run(mode: "other", for: .zero)
    print("quiet")
case "served-elsewhere":
    // The same, and a run in another mode finds the queue ready before, but serves a timer and ends.
    let port = try Loop.PortSource { _ in }
    for mode: Loop.Mode in [.default, "other"] {
        Loop.main.add(port, in: mode)
        Loop.main.run(mode: mode, for: .zero)
    }
    DispatchQueue.main.async {
        print("job")
        Loop.main.stop()
    }
    Loop.main.run(mode: "other", for: .zero)
    Loop.main.add(Loop.Timer(after: .zero) { _ in print("timer") }, in: .default)
    Loop.main.run(mode: .default, for: .zero)
    Loop.main.addCommonMode("other")
    print(Loop.main.run(mode: "other", for: .seconds(5)))
case "given-away":
    Loop.main.perform { print("never") }
    print("accepted: \(Loop.main.perform {})")
    let isReported = DispatchSemaphore(value: 0)
    // The report comes before it, from the thread that ends.
    Loop.main.onEnd { isReported.signal() }
    DispatchQueue.main.async {
        // The end of the thread, and of its loop, is in progress.
        while Loop.main.perform({}) { sched_yield() }
        print("refused")
        isReported.wait()
        exit(0)
    }
    dispatchMain()
case "dropped":
    // Accepted before the end, and not refused later.
    print("accepted: \(Loop.main.perform { print("never") })")
    Loop.main.onEnd {
        print("ended")
        exit(0)
    }
    dispatchMain()
case "dropped-timer":
    Loop.mistakeHandling = .call { mistake in
        print("reported: \(mistake == .mainLoopWithoutThread)")
        exit(0)
    }
    Loop.main.add(Loop.Timer(after: .seconds(3600)) { _ in })
    dispatchMain()
case "end-handler":
    Loop.mistakeHandling = .call { mistake in
        print("reported: \(mistake == .mainLoopWithoutThread)")
        exit(0)
    }
    DispatchQueue.main.async {
        // Nothing else is given to the loop.
        while true {
            if Loop.main.onEnd({}) == nil { sched_yield() }
        }
    }
    _ = Loop.main
    dispatchMain()
default:
    print(
        "usage: HostProgram loop|edges|callback|queue|queue-edges|queue-first|within|not-common|served-elsewhere|"
            + "given-away|dropped|end-handler")
    exit(64)
}
