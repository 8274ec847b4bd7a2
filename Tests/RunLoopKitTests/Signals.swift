#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Unix signals of the calling thread.
enum Signals {
    static var user2: Int32 { SIGUSR2 }

    /// One that nothing else here uses.
    static var realTime: Int32 { 45 }

    /// Sends a signal to the calling thread, which is to block it.
    static func send(_ signal: Int32) { precondition(pthread_kill(pthread_self(), signal) == 0) }

    static func isBlocked(_ signal: Int32) -> Bool {
        var set = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &set)
        return sigismember(&set, signal) == 1
    }

    static func unblock(_ signal: Int32) {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, signal)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}
