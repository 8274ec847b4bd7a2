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

func changeMask(_ how: Int32, _ signal: Int32) {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, signal)
    pthread_sigmask(how, &set, nil)
}

func makeSource(_ name: String, _ signal: Int32 = SIGUSR1) throws -> Source {
    let source = try Source(signal) { _, arrivals in print("\(name): \(arrivals.count)") }
    // One that was never in a loop would be reported as a mistake.
    let other = Loop(clock: VirtualClock())
    other.add(source)
    other.remove(source)
    return source
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
    // Signals come in the order in which they arrive.
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

/// A signal that comes again while its source is served, behind another one.
func servedBefore() throws {
    let first = try Source(SIGUSR1) { _, _ in
        print("USR1")
        old += 1
        if old == 1 { for signal in [SIGUSR2, SIGUSR1] { send(signal) } }
    }
    let second = try Source(SIGUSR2) { _, _ in print("USR2") }
    for source in [first, second] { loop.add(source) }
    send(SIGUSR1)
    look()
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

/// What a source holds in a mode that does not run: a pipe of real-time signals, and one ordinary signal.
func bounded() throws {
    Loop.mistakeHandling = .call { print($0) }
    let heard = Atomic<Int>(0)
    let reader = try Source(realTime) { _, arrivals in heard.add(arrivals.count, ordering: .relaxed) }
    let other = try Source(realTime, label: "idle") { _, arrivals in
        print("other: \(arrivals.map(\.value) == Array(1...4096)), \(arrivals.count)")
    }
    let (ordinary, otherOrdinary) = (try makeSource("ordinary"), try makeSource("other ordinary"))
    for source in [reader, ordinary] { loop.add(source) }
    for source in [other, otherOrdinary] { loop.add(source, in: "other") }
    for number: Int32 in 1...5000 {
        sigqueue(getpid(), realTime, sigval(sival_int: number))
        if number % 1000 == 0 { look() }
    }
    print("reader: \(heard.load(ordering: .relaxed))")
    for _ in 0..<3 {
        send(SIGUSR1)
        look()
    }
    for _ in 0..<3 { loop.run(mode: "other", for: .zero) }
    withExtendedLifetime((reader, other, ordinary, otherOrdinary)) {}
}

/// What the handler of a program notes.
nonisolated(unsafe) var old = 0

/// What the signal does before, while and after it has sources.
func effects() throws {
    signal(SIGUSR1) { _ in old += 1 }
    send(SIGUSR1)
    print("before: \(old)")
    var (first, second): (Source?, Source?) = (try makeSource("first"), try makeSource("second"))
    print("replaced: \(first!.replacedHandler!.hasSuffix("SignalProgram"))")
    loop.add(first!)
    print("described: \("\(loop)".contains("): signal 10, instead of the handler "))")
    send(SIGUSR1)
    look()
    first?.invalidate()
    first?.invalidate()
    send(SIGUSR1)
    print("with sources: \(old)")
    withExtendedLifetime(second) {}
    second = nil
    send(SIGUSR1)
    print("after: \(old)")
    // On another thread.
    first = try makeSource("ended elsewhere")
    let (thread, source) = (try LoopThread(name: "other"), first!)
    try thread.performAndWait { source.invalidate() }
    send(SIGUSR1)
    print("ended elsewhere: \(old)")
    // A handler that the program installs meanwhile stays, and the source hears nothing.
    first = try makeSource("deaf")
    loop.add(first!)
    signal(SIGUSR1) { _ in old += 100 }
    send(SIGUSR1)
    look()
    first?.invalidate()
    send(SIGUSR1)
    print("installed meanwhile: \(old)")
    // An ignored signal is heard, and then ignored again.
    signal(SIGUSR1, SIG_IGN)
    first = try makeSource("ignored")
    print("replaced: \(first!.replacedHandler ?? "none")")
    loop.add(first!)
    send(SIGUSR1)
    look()
    first?.invalidate()
    send(SIGUSR1)
    print("ignored again")
}

/// Sources that are made late, on any thread, whatever that blocks.
func anyThread() throws {
    let thread = try LoopThread(name: "earlier")
    let source = try thread.performAndWait {
        let source = try makeSource("made on a worker")
        Loop.current.add(source)
        return source
    }
    send(SIGUSR1)
    try thread.performAndWait { Loop.current.run(mode: .default, for: .zero) }
    thread.perform { changeMask(SIG_BLOCK, SIGUSR2) }
    try thread.performAndWait {}
    let late = try makeSource("made later", SIGUSR2)
    loop.add(late)
    send(SIGUSR2)
    look()
    try thread.performAndWait {
        let third = try makeSource("made where the signal is blocked", SIGUSR2)
        print("blocked there: \(isBlocked(SIGUSR2))")
        third.invalidate()
    }
    source.invalidate()
    thread.stop()
}

/// In a program whose threads all block the signal, as one started by a thread of Dispatch.
func blockedEverywhere() throws {
    changeMask(SIG_BLOCK, SIGUSR1)
    let thread = try LoopThread(name: "other")  // inherits that
    send(SIGUSR1)
    let source = try makeSource("pending")
    print("blocked: \(isBlocked(SIGUSR1)), there: \(try thread.performAndWait { isBlocked(SIGUSR1) })")
    loop.add(source)
    look()
    send(SIGUSR1)
    look()
}

nonisolated(unsafe) var readingThread: pthread_t?

/// A system call that a thread waits in is restarted.
func restartedCalls() throws {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    let hasBegun = Atomic<Bool>(false)
    let thread = try LoopThread(name: "reads")
    thread.perform {
        readingThread = pthread_self()
        hasBegun.store(true, ordering: .sequentiallyConsistent)
        var byte: UInt8 = 0
        let count = read(reader, &byte, 1)
        print("read: \(count)")
    }
    while !hasBegun.load(ordering: .sequentiallyConsistent) { sched_yield() }
    let heard = LoopBound(0, on: loop)
    let source = try Source(SIGUSR1) { _, arrivals in heard.value += arrivals.count }
    loop.add(source)
    for _ in 0..<50 {
        pthread_kill(readingThread!, SIGUSR1)
        loop.run(mode: .default, until: .distantFuture, returnAfterSourceHandled: true)
    }
    print("heard: \(heard.value)")
    writeByte(writer, 1)
    thread.stop()
    thread.join()
}

/// Each of many real-time signals that several threads get at once is heard once by each of two sources, while other
/// sources for the signal come and go, and pipes of the program's too.
func contended() throws {
    let (threads, perThread) = (4, 500)
    let isOver = Atomic<Bool>(false)
    let values = LoopBound<[[Int32]]>([[], []], on: loop)
    let sources = try (0..<2).map { index in
        try Source(realTime) { _, arrivals in values.value[index] += arrivals.map(\.value) }
    }
    for source in sources { loop.add(source) }
    // Descriptors that a late write would reach.
    let strays = Atomic<Int>(0)
    let others = try (0..<2).map { number in try LoopThread(name: "changes \(number)") }
    for thread in others {
        thread.perform {
            while !isOver.load(ordering: .relaxed) {
                let passing = try! makeSource("passing", realTime)
                passing.invalidate()
                var ends: [Int32] = [0, 0]
                precondition(pipe(&ends) == 0)
                var request = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
                if poll(&request, 1, 0) > 0 { strays.add(1, ordering: .relaxed) }
                close(ends[0])
                close(ends[1])
            }
        }
    }
    let senders = try (0..<threads).map { number in try LoopThread(name: "sends \(number)") }
    for (number, thread) in senders.enumerated() {
        thread.perform {
            for index in 0..<perThread {
                let value = sigval(sival_int: Int32(number * perThread + index))
                while sigqueue(getpid(), realTime, value) != 0 { sched_yield() }
            }
        }
    }
    while values.value.contains(where: { $0.count < threads * perThread }) {
        loop.run(mode: .default, for: .seconds(10), returnAfterSourceHandled: true)
    }
    isOver.store(true, ordering: .relaxed)
    for thread in senders + others {
        thread.stop()
        thread.join()
    }
    look()
    for heard in values.value { print(heard.sorted() == (0..<Int32(threads * perThread)).map { $0 }) }
    print("strays: \(strays.load(ordering: .relaxed))")
    withExtendedLifetime(sources) {}
}

/// A fault of the process itself has its old effect, which may be a handler of the program's.
func fault(_ kind: String) throws {
    if kind == "handled" { signal(SIGSEGV) { _ in _exit(7) } }
    let sources = try [SIGSEGV, SIGILL, SIGTRAP].map { try makeSource("sent", $0) }
    for source in sources {
        loop.add(source)
        send(source.signal)
        look()
    }
    fflush(nil)
    if kind == "trap" { fatalError("on purpose") }
    UnsafeMutablePointer<Int>(bitPattern: 64)!.pointee = 1
}

/// In a child of `fork` the signal has its old effect, until the child makes a source of its own. The parent hears
/// nothing of it.
func forked() throws {
    signal(SIGUSR1) { _ in old += 1 }
    let source = try makeSource("parent")
    loop.add(source)
    fflush(nil)
    let child = forkNow()
    if child == 0 {
        send(SIGUSR1)
        print("child, without a source: \(old)")
        let own = Loop.current
        let source = try Source(SIGUSR1) { source, arrivals in
            print("child: \(arrivals.count)")
            source.invalidate()
            own.stop()
        }
        own.add(source)
        send(SIGUSR1)
        own.run(mode: .default, for: .seconds(60))
        send(SIGUSR1)
        print("child, afterwards: \(old)")
        fflush(nil)
        _exit(0)
    }
    while waitpid(child, nil, 0) < 0, errno == EINTR {}
    look()
    send(SIGUSR1)
    look()
    print("parent's handler: \(old)")
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
    print(loop.run(mode: .default, until: .distantFuture))
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
    print(loop.run(mode: "last", until: .distantFuture), source.isValid)
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

/// A signal for one thread arrives, whichever loop has the source.
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
    print("then: \(source.isValid)")
}

// The parent process may have blocked signals, and blocked signals are inherited.
var none = sigset_t()
pthread_sigmask(SIG_SETMASK, &none, nil)

switch CommandLine.arguments.dropFirst().first {
case "arrives": try arrives()
case "kinds": try kinds()
case "several": try several()
case "servedBefore": try servedBefore()
case "lastMoment": try lastMoment()
case "tracedChild": try tracedChild()
case "tracer":
    let numbers = CommandLine.arguments.dropFirst(2).compactMap { Int32($0) }
    tracer(of: numbers[0], says: numbers[1], heeds: numbers[2])
case "realTime": try realTimeSignals()
case "two": try twoSources()
case "bounded": try bounded()
case "effects": try effects()
case "anyThread": try anyThread()
case "blockedEverywhere": try blockedEverywhere()
case "restartedCalls": try restartedCalls()
case "contended": try contended()
case "fault": try fault(CommandLine.arguments[2])
case "forked": try forked()
case "numbers": numbers()
case "restarts": try restarts()
case "withoutInitialThread": try withoutInitialThread()
case "toOneThread": try toOneThread()
case "hosted": try hosted()
case "terminated": try terminated()
case "terminatedByFoundation": try terminatedByFoundation()
case "children": try children()
case "isolated": try isolated()
case "ignoredChildren": try ignoredChildren()
case "afterTheEnd":
    try makeSource("never").invalidate()
    print("without a source")
    fflush(nil)
    send(SIGUSR1)
    print("not reached")
default: exit(64)
}
