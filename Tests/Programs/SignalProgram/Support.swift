import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

typealias Source = Loop.SignalSource

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

/// What the handler of a program notes.
nonisolated(unsafe) var old = 0
