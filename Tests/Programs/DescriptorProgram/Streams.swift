import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

private func isOpen(_ number: Int32) -> Bool { fcntl(number, F_GETFD) >= 0 }

/// Ends the process with the caller's line if a standard stream stays open. The library's descriptors have such a
/// number for a moment.
private func requireClosedStreams(_ line: Int32 = #line) {
    for number: Int32 in 0...2 {
        var looks = 0
        while isOpen(number) {
            looks += 1
            if looks == 10_000 { _exit(line) }
            usleep(1000)
        }
    }
}

/// Ends the process with the caller's line unless the number is refused as that of no open file.
private func requireRefusal(of number: Int32, _ line: Int32 = #line) {
    do throws(LoopError) {
        _ = try Loop.FileDescriptorSource(number) { _, _ in }
        _exit(line)
    } catch {
        if error.description != "epoll_ctl(\(number)): Bad file descriptor (EBADF)" { _exit(line) }
    }
}

/// Without standard streams, as after `<&- >&- 2>&-`: makes every object of the library that has a descriptor. A
/// program would read, as its input, what is the library's.
func useInputsWithoutStreams() throws {
    for number: Int32 in 0...2 { close(number) }
    requireRefusal(of: 0)
    let thread = try LoopThread(name: "streams")
    let loop = thread.loop
    try thread.performAndWait {
        loop.add(Loop.Timer(after: .seconds(1000)) { _ in })
        loop.add(Loop.Timer(after: .seconds(1000), timeBase: .wallClock) { _ in })
        loop.run(mode: "m", for: .zero)
    }
    requireClosedStreams()
    // Dispatch makes the main queue's eventfd: here as another thread asks whether anything runs the main loop.
    try thread.performAndWait { _ = Loop.main.perform {} }
    requireClosedStreams()
    Loop.main.perform {}
    Loop.main.run(mode: .default, for: .zero)
    requireClosedStreams()
    let port = try Loop.PortSource { _ in }
    let signal = try Loop.SignalSource(SIGUSR1) { _, _ in }
    let folder = try Loop.FolderSource("/proc/self/fdinfo", options: .subfolders) { _, _ in }
    requireClosedStreams()
    nonisolated(unsafe) let accepted = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    sem_init(accepted, 0, 0)
    let listener = try Loop.Listener(.tcp(.loopback, port: 0)) { _, _ in sem_post(accepted) }
    let client = try Loop.Connection(connectingTo: listener.address!)
    let child = try Loop.ChildProcess("sleep", ["1000"], input: .pipe, output: .pipe, error: .pipe)
    let process = try Loop.ProcessSource(child.process) { _, _ in }
    requireClosedStreams()
    for item in [port, signal, folder, listener, client, child, process] { loop.add(item, in: .common) }
    while sem_wait(accepted) < 0 {}
    requireClosedStreams()
    child.signal(SIGKILL)
    thread.stop()
    thread.join()
    // The lowest number that is free is the next that the library gets, whatever it is.
    var number: Int32 = 0
    while number <= 2 { number = open("/dev/null", O_RDONLY) }
    close(number)
    requireRefusal(of: number)
}
