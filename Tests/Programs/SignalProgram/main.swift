// Signal sources, in a process whose signals and threads are its own. The argument names a scenario; the program prints
// the events.
import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

typealias Source = Loop.SignalSource

let loop = Loop.current
let realTime: Int32 = 40

func send(_ signal: Int32) { kill(getpid(), signal) }

/// Serves all pending events.
func look() { while loop.run(mode: .default, for: .zero, returnAfterSourceHandled: true) == .handledSource {} }

func isBlocked(_ signal: Int32) -> Bool {
    var set = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &set)
    return sigismember(&set, signal) == 1
}

func makeSource(_ name: String, _ signal: Int32 = SIGUSR1) throws -> Source {
    try Source(signal) { _, arrivals in print("\(name): \(arrivals.count)") }
}

func arrives() throws {
    let source = try Source(SIGUSR1) { source, arrivals in
        for arrival in arrivals {
            print(
                arrival.signal == source.signal, arrival.senderProcess == getpid(), arrival.senderUser == getuid(),
                arrival.code)
        }
    }
    loop.add(source, in: .default)
    look()
    send(SIGUSR1)
    look()
    for _ in 0..<3 { send(SIGUSR1) }  // The kernel remembers one.
    look()
    print("\(loop)".contains("): signal \(SIGUSR1)"))
    // Sleeping, woken by another process; and a signal that is ignored without a source.
    let winch = try Source(SIGWINCH) { _, arrivals in
        print("SIGWINCH: \(arrivals.count)")
        Loop.current.stop()
    }
    loop.add(winch, in: .default)
    loop.add(Loop.Timer(after: .milliseconds(1)) { _ in send(SIGWINCH) }, in: .default)
    print(loop.run(mode: .default, until: .distantFuture))
}

/// Several signals at once, in different orders, beside a port that became ready between them.
func several() throws {
    let signals = [("USR2", SIGUSR2), ("HUP", SIGHUP), ("USR1", SIGUSR1), ("TERM", SIGTERM)]
    let sources = try signals.map { name, signal in try Source(signal) { _, _ in print(name) } }
    let port = try Loop.PortSource { _ in print("port") }
    // Not in the order in which they were made.
    for item in [sources[0], sources[1], port, sources[2], sources[3]] as [Loop.Item] { loop.add(item, in: .default) }
    look()
    for round in 0..<8 {
        for index in 0..<4 {
            send(signals[(round / 2 + (round % 2 == 0 ? index : 3 - index)) % 4].1)
            if index == 1 { port.send() }
        }
        look()
    }
    withExtendedLifetime((sources, port)) {}
}

/// Signals that by default end a program, stop it, or are ignored.
func kinds() throws {
    let signals = [
        SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN,
        SIGURG,
        SIGWINCH, SIGIO,
    ]
    for signal in signals {
        let source = try Source(signal) { source, arrivals in
            print(source.signal == signal && arrivals.map(\.signal) == [signal] ? "heard" : "wrong: \(signal)")
        }
        loop.add(source, in: .default)
        send(signal)
        look()
        source.invalidate()
    }
}

func realTimeSignals() throws {
    let source = try Source(realTime) { _, arrivals in print(arrivals.map(\.value), arrivals[0].code) }
    for number in 1...3 { sigqueue(getpid(), realTime, sigval(sival_int: Int32(number))) }
    // Before the source was in any loop, and in two modes.
    loop.add(source, in: .default)
    loop.add(source, in: "other")
    loop.run(mode: "other", for: .zero)
    look()
    sigqueue(getpid(), realTime, sigval(sival_int: 4))
    look()
    loop.run(mode: "other", for: .zero)
}

func twoSources() throws {
    let heard = Atomic<Int>(0)
    let there = try Source(SIGUSR1) { _, arrivals in heard.add(arrivals.count, ordering: .sequentiallyConsistent) }
    let (first, second, elsewhere) = (
        try makeSource("first"), try makeSource("second"), try makeSource("in no loop yet")
    )
    let thread = try LoopThread(name: "other")
    thread.loop.add(there, in: .default)
    loop.add(first, in: .default)
    loop.add(second, in: .default)
    for round in 1...200 {
        send(SIGUSR1)
        while heard.load(ordering: .sequentiallyConsistent) < round { sched_yield() }
    }
    print("the other thread heard all")
    first.invalidate()
    look()
    loop.add(elsewhere, in: .default)
    look()
    thread.stop()  // with a source on it
}

/// Sets how many signals the kernel queues for this user, and returns the previous limit.
func setPendingLimit(_ count: rlim_t) -> rlim_t {
    #if canImport(Glibc)
        let resource = __rlimit_resource_t(11)  // RLIMIT_SIGPENDING
    #else
        let resource: Int32 = 11
    #endif
    var limit = rlimit()
    getrlimit(resource, &limit)
    let before = limit.rlim_cur
    limit.rlim_cur = count
    precondition(setrlimit(resource, &limit) == 0)
    return before
}

/// What a source remembers in a mode that does not run.
func bounded() throws {
    // Only while the sources are made: the kernel counts the signals of all processes of this user.
    let kernelsLimit = setPendingLimit(100)
    let heard = Atomic<Int>(0)
    let reader = try Source(realTime) { _, arrivals in heard.add(arrivals.count, ordering: .relaxed) }
    let other = try Source(realTime) { _, arrivals in
        print("other: \(arrivals.map(\.value) == Array(1...100)), \(arrivals.count)")
    }
    let (ordinary, otherOrdinary) = (try makeSource("ordinary"), try makeSource("other ordinary"))
    _ = setPendingLimit(kernelsLimit)
    for source in [reader, ordinary] { loop.add(source) }
    for source in [other, otherOrdinary] { loop.add(source, in: "other") }
    for number: Int32 in 1...250 {
        sigqueue(getpid(), realTime, sigval(sival_int: number))
        look()
    }
    print("reader: \(heard.load(ordering: .relaxed))")
    for _ in 0..<3 {
        send(SIGUSR1)
        look()
    }
    for _ in 0..<3 { loop.run(mode: "other", for: .zero) }
}

func masks() throws {
    print("before: \(isBlocked(SIGUSR1))")
    var (first, second): (Source?, Source?) = (try makeSource("first"), try makeSource("second"))
    print("with two: \(isBlocked(SIGUSR1))")
    first?.invalidate()
    first?.invalidate()
    print("with one: \(isBlocked(SIGUSR1))")
    second = nil
    print("after: \(isBlocked(SIGUSR1))")
    var set = sigset_t()
    sigaddset(&set, SIGUSR2)
    pthread_sigmask(SIG_BLOCK, &set, nil)
    try makeSource("own", SIGUSR2).invalidate()
    print("blocked by the program itself: \(isBlocked(SIGUSR2))")
    first = try makeSource("ended elsewhere")
    let (thread, source) = (try LoopThread(name: "other"), first!)
    try thread.performAndWait { source.invalidate() }
    print("ended elsewhere: \(isBlocked(SIGUSR1))")
    look()
    print("after a pass: \(isBlocked(SIGUSR1))")
    withExtendedLifetime((first, second)) {}
}

/// A source made in a handler of another loop that this thread runs: its mask belongs to the thread, not to that loop.
func maskOfAVirtualHandler() throws {
    let virtual = Loop(clock: VirtualClock())
    let made = LoopBound<Source?>(nil, on: virtual)
    virtual.perform { made.value = try? makeSource("made in virtual time") }
    virtual.run(mode: .default, for: .zero)
    let source = made.value!
    print("made: \(isBlocked(SIGUSR1))")
    let thread = try LoopThread(name: "other")
    try thread.performAndWait { source.invalidate() }
    look()
    print("after a pass: \(isBlocked(SIGUSR1))")
    virtual.end()
}

/// Signals that the source has already taken, and that an observer keeps it from reporting.
func lastMoment() throws {
    let source = try makeSource("never")
    loop.add(source, in: .default)
    let observer = Loop.Observer(.afterWaiting, repeats: false) { _, _ in
        source.invalidate()
        Loop.current.stop()
    }
    loop.add(observer, in: .default)
    send(SIGUSR1)
    print(loop.run(mode: .default, until: .distantFuture), isBlocked(SIGUSR1))
}

func threads() throws {
    let thread = try LoopThread(name: "too early")
    do {
        _ = try makeSource("refused")
    } catch {
        print(error)
    }
    print("blocked: \(isBlocked(SIGUSR1))")
    let source = try Source(SIGUSR1, checkingThreads: false) { _, arrivals in print("unchecked: \(arrivals.count)") }
    try thread.performAndWait {
        var set = sigset_t()
        sigaddset(&set, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }
    let checked = try makeSource("checked")
    for source in [source, checked] { loop.add(source, in: .default) }
    send(SIGUSR1)
    look()
}

func numbers() {
    for number: Int32 in [SIGKILL, SIGSTOP, 0, -1, 32, 65, 1_000_000] {
        do {
            _ = try makeSource("never", number)
            print("accepted \(number)")
        } catch {
            print(error)
        }
    }
}

/// A stop in between, a source removed and added again, and one that ends in its handler.
func restarts() throws {
    let source = try Source(SIGUSR1) { source, arrivals in
        print("\(arrivals.count) in \(Loop.current.currentMode!)")
        if Loop.current.currentMode == "last" { source.invalidate() }
        Loop.current.stop()
    }
    loop.add(source, in: .default)
    send(SIGUSR1)
    loop.remove(source, in: .default)
    look()
    loop.add(source, in: .default)
    print(loop.run(mode: .default, until: .distantFuture))
    loop.add(source, in: "last")
    send(SIGUSR1)
    print(loop.run(mode: "last", until: .distantFuture), source.isValid, isBlocked(SIGUSR1))
}

/// The content of `/proc` about one of this process's threads.
func status(ofThread number: Int32) -> String {
    let file = open("/proc/self/task/\(number)/status", O_RDONLY)
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
}

/// The initial thread has been given away, as by `dispatchMain()`, and still exists as a zombie that blocks nothing.
func withoutInitialThread() throws -> Never {
    let thread = try LoopThread(name: "other")
    thread.perform {
        while !status(ofThread: getpid()).contains("State:\tZ") { sched_yield() }
        do {
            let source = try makeSource("heard")
            Loop.current.add(source, in: .default)
            send(SIGUSR1)
            Loop.current.run(mode: .default, until: .distantFuture, returnAfterSourceHandled: true)
        } catch {
            print(error)
        }
        exit(0)
    }
    pthread_exit(nil)
}

/// A source in a thread's loop receives a signal for that thread.
func toOneThread() throws {
    let source = try makeSource("heard")
    let thread = try LoopThread(name: "other")
    thread.loop.add(source, in: .default)
    try thread.performAndWait {
        pthread_kill(pthread_self(), SIGUSR1)
        Loop.current.run(mode: .default, until: .distantFuture, returnAfterSourceHandled: true)
    }
    thread.stop()  // with the source on it
}

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
    print("then: \(source.isValid) \(isBlocked(SIGUSR1))")
}

// The parent process may have blocked signals, and blocked signals are inherited.
var none = sigset_t()
pthread_sigmask(SIG_SETMASK, &none, nil)

switch CommandLine.arguments.dropFirst().first {
case "arrives": try arrives()
case "kinds": try kinds()
case "several": try several()
case "maskOfAVirtualHandler": try maskOfAVirtualHandler()
case "lastMoment": try lastMoment()
case "tracedChild": try tracedChild()
case "tracer":
    let numbers = CommandLine.arguments.dropFirst(2).compactMap { Int32($0) }
    tracer(of: numbers[0], says: numbers[1], heeds: numbers[2])
case "realTime": try realTimeSignals()
case "two": try twoSources()
case "bounded": try bounded()
case "masks": try masks()
case "threads": try threads()
case "numbers": numbers()
case "restarts": try restarts()
case "withoutInitialThread": try withoutInitialThread()
case "toOneThread": try toOneThread()
case "hosted": try hosted()
case "inherited": try inherited()
case "inheritedByFoundation": try inheritedByFoundation()
case "children": try children()
case "isolated": try isolated()
case "ignoredChildren": try ignoredChildren()
case "pending":
    let source = try makeSource("never")
    send(SIGUSR1)
    print("pending")
    fflush(nil)
    source.invalidate()
    print("not reached")
default: exit(64)
}
