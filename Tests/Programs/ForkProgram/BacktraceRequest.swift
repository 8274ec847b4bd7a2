import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Forks while a thread requests a backtrace of another one. A child requests one of its own.
enum BacktraceRequest {
    private static let signal = System.defaultBacktraceSignal

    static func makeChild() throws {
        try System.prepareBacktraces(by: signal)
        // So the request stays without an answer until the child has ended.
        change(SIG_BLOCK)
        let requesting = try LoopThread(name: "requesting")
        let thread = System.kernelThreadNumber
        requesting.perform { say("parent: has answered \(hasAnswered(thread, within: 1000))") }
        while !isPending { sched_yield() }
        forkChild {
            change(SIG_UNBLOCK)
            let (worker, thread) = (try! LoopThread(name: "child's"), System.kernelThreadNumber)
            // The time only bounds a child that gets no answer.
            say("child: has answered \(try! worker.performAndWait { hasAnswered(thread, within: 20) })")
        }
        change(SIG_UNBLOCK)
        requesting.stop()
        requesting.join()
    }

    static func hasAnswered(_ thread: Int32, within seconds: Int64) -> Bool {
        System.sample(ofThread: thread, by: signal, within: seconds * 1_000_000_000) != nil
    }

    static func change(_ how: Int32) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, signal)
        precondition(pthread_sigmask(how, &signals, nil) == 0)
    }

    static var isPending: Bool {
        var signals = sigset_t()
        precondition(sigpending(&signals) == 0)
        return sigismember(&signals, signal) == 1
    }
}
