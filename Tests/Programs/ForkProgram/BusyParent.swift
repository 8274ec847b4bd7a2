import RunLoopDiagnostics
import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Forks while other threads use everything that the process has one of. Each child makes loops and threads of its own.
/// A child that finds a lock held forever is ended by SIGALRM.
enum BusyParent {
    private static let mistakes = Atomic<Int>(0)

    /// - Parameter patience: The number of seconds after which a child counts as hanging.
    static func makeChildren(_ count: Int, patience: UInt32) {
        Loop.mistakeHandling = .call { _ in mistakes.add(1, ordering: .relaxed) }
        // What Swift's runtime makes under locks of its own exists before the first fork.
        let used = work()
        precondition(used == 2)
        keepBusy()
        let ended = (0..<count).filter { _ in hasChildEnded(within: patience) }.count
        say("children that ended: \(ended) of \(count)")
        _exit(0)
    }

    private static func hasChildEnded(within patience: UInt32) -> Bool {
        let child = fork()
        precondition(child >= 0)
        if child == 0 {
            alarm(patience)
            _exit(work() == 2 ? 0 : 1)
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }

    /// Uses everything that the process has one of. Returns how many handlers the loop has called.
    private static func work() -> Int {
        let (loop, tracer) = (Loop.current, LoopTracer())
        let calls = Atomic<Int>(0)
        let mistakesBefore = mistakes.load(ordering: .relaxed)
        tracer.attach(to: loop)
        loop.perform { calls.add(1, ordering: .relaxed) }
        loop.add(
            Loop.Timer(after: .milliseconds(1)) { _ in
                calls.add(1, ordering: .relaxed)
                loop.stop()
            })
        loop.run()
        tracer.detach()
        let worker = try! LoopThread(name: "worker")
        precondition(try! worker.performAndWait { 7 } == 7)
        worker.stop()
        worker.join()
        makeMistake(with: worker.loop)
        precondition(mistakes.load(ordering: .relaxed) > mistakesBefore && Loop.dump.contains("loop"))
        makeSignalSource()
        return calls.load(ordering: .relaxed)
    }

    private static func makeMistake(with endedLoop: Loop) {
        endedLoop.add(Loop.Timer(after: .seconds(1)) { _ in })
    }

    private static func makeSignalSource() {
        let source = try! Loop.SignalSource(SIGUSR2) { _, _ in }
        Loop.current.add(source)
        source.invalidate()
    }

    private static func keepBusy() {
        let (tracer, other, ended) = (LoopTracer(), try! LoopThread(name: "other"), Loop(clock: VirtualClock()))
        ended.end()
        let port = try! Loop.PortSource { _ in }
        other.loop.add(port)
        let actions: [@Sendable () -> Void] = [
            { _ = Loop(clock: VirtualClock()) },
            { makeMistake(with: ended) },
            { makeSignalSource() },
            {
                tracer.attach(to: other.loop)
                port.send()
                tracer.detach()
            },
            { try! other.performAndWait {} },
        ]
        busy = actions.map { action in
            let thread = try! LoopThread(name: "busy")
            try! thread.performAndWait(action)
            thread.perform { while true { action() } }
            return thread
        }
    }

    /// Kept alive: dropping them stops them.
    nonisolated(unsafe) private static var busy: [LoopThread] = []
}
