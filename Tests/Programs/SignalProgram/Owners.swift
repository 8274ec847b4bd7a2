// Sources in a hosted loop, and those of an actor.

import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The descriptor of a hosted loop is readable when a signal has arrived, and no longer once it has been reported.
func hosted() throws {
    let source = try makeSource("heard")
    loop.add(source, in: .default)
    let descriptor = try loop.hosting.begin()
    func serve() -> String {
        var results: [Loop.HostedResult] = []
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&request, 1, 0) > 0, results.count < 100 { results.append(loop.hosting.pass()) }
        return results.map { "\($0)" }.joined(separator: " ")
    }
    print(serve())
    send(SIGUSR1)
    print(serve())
    print("then: \(serve())")
    loop.hosting.end()
}

/// On the main thread's loop, which is the one that runs here.
actor Listener {
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private(set) var heard = 0
    func hear(_ count: Int) { heard += count }
}

func isolated() throws {
    var listener: Listener? = Listener()
    let source = try Source(SIGUSR1, isolation: listener!) { listener, source, arrivals in
        listener.hear(source.signal == SIGUSR1 ? arrivals.count : 100)
    }
    loop.add(source)
    for _ in 0..<2 {
        send(SIGUSR1)
        look()
    }
    print("heard: \(listener!.assumeIsolated { $0.heard })")
    listener = nil
    send(SIGUSR1)
    look()
    print("then: \(source.isValid)")
}
