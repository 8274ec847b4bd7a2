// What a signal does besides, and the signals that cannot have a source.

import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

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

/// A source that is kept, and in no loop yet, leaves its signal alone; so does one that a loop refuses.
func notAddedYet() throws {
    signal(SIGUSR1) { _ in old += 1 }
    let source = try Source(SIGUSR1) { _, arrivals in print("heard: \(arrivals.count)") }
    print("replaced: \(source.replacedHandler ?? "none")")
    send(SIGUSR1)
    print("made: \(old)")
    let ended = try LoopThread(name: "ended")
    ended.stop()
    ended.join()
    Loop.mistakeHandling = .ignore
    print("refused: \(!ended.loop.add(source))")
    send(SIGUSR1)
    print("refused: \(old)")
    loop.add(source, in: "not run")
    send(SIGUSR1)
    print("in a mode: \(old)")
    loop.add(source)
    look()
    source.invalidate()
    send(SIGUSR1)
    print("invalid: \(old)")
    // It does not begin again.
    print("invalid: \(!loop.add(source))")
    signal(SIGUSR1, SIG_DFL)
    let other = try Source(SIGUSR1) { _, _ in print("never") }
    fflush(nil)
    send(SIGUSR1)
    print("not reached")
    withExtendedLifetime(other) {}
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
    source.label = "parent's"
    loop.add(source)
    fflush(nil)
    let child = forkNow()
    if child == 0 {
        send(SIGUSR1)
        print("child, without a source: \(old)")
        Loop.mistakeHandling = .call { print("child: \($0)") }
        print("child, the parent's source: \(Loop.current.add(source))")
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
