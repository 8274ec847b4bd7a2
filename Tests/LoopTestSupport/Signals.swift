#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

import RunLoopKit
import Synchronization

private let handled = Atomic<Int>(0)

/// A thread to which a test can send signals.
package struct SignalledThread: @unchecked Sendable {
    private let thread = pthread_self()

    /// The calling thread, which may have inherited a mask that blocks all signals. From now on this signal has a
    /// handler, which only counts.
    package init() {
        signal(Signals.interruption) { _ in handled.add(1, ordering: .sequentiallyConsistent) }
        Signals.unblock(Signals.interruption)
    }

    /// Makes the thread call the handler, and returns after that.
    package func interrupt() {
        let before = handled.load(ordering: .sequentiallyConsistent)
        precondition(pthread_kill(thread, Signals.interruption) == 0)
        spin(until: handled.load(ordering: .sequentiallyConsistent) > before)
    }
}

/// A thread that a test can make send to a port in a Unix signal handler. One at a time.
package struct SendingThread: @unchecked Sendable {
    private nonisolated(unsafe) static var port: Loop.PortSource?

    private let thread = pthread_self()

    /// The calling thread.
    package init(to port: Loop.PortSource) {
        SendingThread.port = port
        signal(Signals.sending) { _ in SendingThread.port?.send() }
        Signals.unblock(Signals.sending)
    }

    package func send() { precondition(pthread_kill(thread, Signals.sending) == 0) }

    package static func end() { port = nil }
}

/// Unix signals of the calling thread.
package enum Signals {
    package static var user2: Int32 { SIGUSR2 }

    /// A signal that nothing else here uses.
    package static var realTime: Int32 { 45 }

    /// A signal that only `SignalledThread` uses.
    package static var interruption: Int32 { 46 }

    /// A signal that only `SendingThread` uses.
    package static var sending: Int32 { 47 }

    /// Signals that only `StallBacktraceTests` uses: for backtraces, and with a handler of its own.
    package static var backtrace: Int32 { 48 }
    package static var handled: Int32 { 49 }

    /// Sends a signal to the calling thread, which must block it.
    package static func send(_ signal: Int32) { precondition(pthread_kill(pthread_self(), signal) == 0) }

    package static func isBlocked(_ signal: Int32) -> Bool {
        var set = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &set)
        return sigismember(&set, signal) == 1
    }

    package static func block(_ signal: Int32) { changeMask(SIG_BLOCK, signal) }
    package static func unblock(_ signal: Int32) { changeMask(SIG_UNBLOCK, signal) }

    private static func changeMask(_ how: Int32, _ signal: Int32) {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, signal)
        pthread_sigmask(how, &set, nil)
    }
}
