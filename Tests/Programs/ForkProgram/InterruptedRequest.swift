import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A signal handler forks, on the thread that requests a backtrace. It returns to the request in both processes.
enum InterruptedRequest {
    nonisolated(unsafe) private static var child: Int32 = -1
    nonisolated(unsafe) private static var forked: Int32 = -1

    static func makeChild() throws {
        try System.prepareBacktraces(by: System.defaultBacktraceSignal)
        let (target, requesting) = (try LoopThread(name: "target"), pthread_self())
        let thread = try target.performAndWait {
            // So the request stays without an answer until the handler has forked.
            BacktraceRequest.change(SIG_BLOCK)
            return System.kernelThreadNumber
        }
        let ends = makePipe()
        // Both exist before the handler.
        (child, forked) = (-1, ends.writer)
        signal(SIGUSR1) { _ in
            InterruptedRequest.child = fork()
            if InterruptedRequest.child > 0 {
                var byte: UInt8 = 0
                _ = write(InterruptedRequest.forked, &byte, 1)
            } else {
                // One that waits for ever ends, too.
                alarm(60)
            }
        }
        target.perform {
            while !BacktraceRequest.isPending { sched_yield() }
            pthread_kill(requesting, SIGUSR1)
            var byte: UInt8 = 0
            _ = read(ends.reader, &byte, 1)
            BacktraceRequest.change(SIG_UNBLOCK)
        }
        let hasAnswered = BacktraceRequest.hasAnswered(thread, within: 1000)
        if child == 0 {
            say("child: has answered \(hasAnswered)")
            _exit(0)
        }
        wait(for: child)
        say("parent: has answered \(hasAnswered)")
        target.stop()
        target.join()
    }
}
