import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A day of virtual time in one loop, of a program that uses every kind of item. How often each handler is called is
/// known exactly: see `DayEvent`.
///
/// A timer ticks every second. Its handler does what the program does in that second: `DaySeconds`. Other threads post
/// and send to the loop between two windows; a child and a thread with a loop on the same clock begin and end in each.
final class Day: Scenario, @unchecked Sendable {
    private let clock = VirtualClock(.manual)
    let probed: LoopThread
    private let minutes: Int
    private let log = DayLog()
    private let seconds: DaySeconds

    init(minutes: Int) {
        self.minutes = minutes
        probed = try! LoopThread(name: "day", clock: clock)
        let (loop, log) = (probed.loop, log)
        seconds = try! probed.performAndWait { DaySeconds(loop, minutes: minutes, log) }
    }

    /// The time passes in windows that end between two seconds.
    func play(_ window: Int, of windows: Int) {
        if window == 0 { clock.advance(by: .milliseconds(500)) }
        sendFromThisThread(window)
        let child = startChild()
        let brief = startThread()
        clock.advance(by: .seconds(share(minutes * 60, window, of: windows).count))
        waitForExit(of: child)
        brief.stop()
        brief.join()
        clock.advance(by: .zero)
        log.windows = window + 1
    }

    private func sendFromThisThread(_ window: Int) {
        let log = log
        for number in 0..<DayEvent.sentInAWindow {
            seconds.messages.send(number)
            probed.perform { log.add(.postFromAnotherThread) }
        }
        clock.advance(by: .zero)
    }

    private func startChild() -> Loop.ChildProcess {
        let child = try! Loop.ChildProcess("true") { [log] _, exit in
            log.add(.child)
            if exit != .exited(0) { log.faults.append("a child: \(exit)") }
        }
        probed.loop.add(child, in: .common)
        return child
    }

    /// Waits until the kernel knows the child's end, which no clock says. The loop reaps it.
    private func waitForExit(of child: Loop.ChildProcess) {
        var info = siginfo_t()
        while waitid(P_PID, id_t(child.process), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        clock.advance(by: .zero)
    }

    /// A thread whose loop has the same time.
    private func startThread() -> LoopThread {
        let thread = try! LoopThread(name: "brief", clock: clock)
        let log = log
        thread.perform(after: .milliseconds(300)) { [loop = probed.loop] in
            loop.perform(in: .common) { log.add(.timerOfAnotherLoop) }
        }
        return thread
    }

    func finish() -> [String] {
        // What still waits is due within a minute.
        clock.advance(by: .seconds(60))
        let (log, minutes, seconds) = (log, minutes, seconds)
        let faults = try! probed.performAndWait {
            seconds.invalidate()
            return log.faults
                + DayEvent.allCases.flatMap { event in
                    compare(log[event], event.count(minutes: minutes, windows: log.windows), "\(event)")
                }
        }
        probed.stop()
        probed.join()
        return faults
    }
}
