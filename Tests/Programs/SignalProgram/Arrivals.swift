// What a source reports, and in which order.

import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

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
    // Removed again: it hears from the first time on, and what arrives waits.
    loop.add(source, in: .default)
    loop.remove(source, in: .default)
    for number in 1...3 { sigqueue(getpid(), realTime, sigval(sival_int: Int32(number))) }
    // In two modes.
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
