import RunLoopKit

/// Reports handlers that keep their loop from coming around, and measures how busy loops are.
///
/// ```swift
/// let monitor = try StallMonitor()
/// monitor.watch(.main, name: "main")
/// // …
/// // RunLoopKit: the loop 'main' is stalled: timer "save" in mode 'default' has kept it from coming around for 100 ms
/// // (stall 1, threshold 100 ms); 3 blocks wait behind it
/// //  0  __futex_abstimed_wait_common + 193 in libc.so.6
/// //  1  Document.save() -> () + 121 in Editor
/// // …
/// // RunLoopKit: the loop 'main' continues: timer "save" in mode 'default' had kept it from coming around for 512 ms
/// // (stall 1)
/// ```
///
/// One thread watches any number of loops. It looks when a handler would exceed a threshold, and otherwise once in the
/// time of the first threshold: by default it wakes up ten times a second, even while all of the loops sleep. A monitor
/// that watches no loop sleeps. On a loop that is watched a block, posted and run, takes some 0.3 µs longer on the
/// machine of `docs/benchmarks.md`.
///
/// **What is a stall.** Each call of a handler is measured alone, even those for the messages of one port. Only the
/// jobs of the main queue that a pass runs, tasks of the main actor among them, are measured together: libdispatch does
/// not tell where one ends. A handler that runs its loop nested does not stall it while that run comes around or
/// sleeps, and is measured again from the end of the run, as from the end of a handler that its own handler called. So
/// the nested run's loop is not stalled, and neither is the outer one: it serves what the nested run's mode has. A pass
/// that takes long because it calls many handlers is no stall; it shows in ``LoopMetrics/passes``. Of a hosted loop
/// only the loop's own handlers are measured: one of the host, such as a signal handler of GTK, is not seen, however
/// long it takes.
///
/// **What is reported.** A report when a stall exceeds the first threshold, another one for each further threshold, and
/// a last one when it has ended, with its true start and end. Time does not count while the machine is suspended, and
/// while the watcher's thread, too, could not run: after a stop of the process, or on a machine that is too busy. A
/// stall that ends right before the monitor is dropped, or the program ends, may have no last report. A stall that the
/// watcher saw too late, as on a busy machine, has only the last one: ``StallReport/isFirst``. A report waits until its
/// backtrace has names, in a debug build for a tenth of a second: a program that looks at its reports at its end calls
/// ``flush()`` before. While 256 reports wait, as for a handler that takes too long, no reports are made of the
/// stalls that begin: ``StallReport/lostStalls`` of the next call counts them.
/// Nothing is reported while a debugger or another process traces this one (`TracerPid` in `/proc/self/status`).
///
/// **Backtraces** are taken in the stalled thread, by the handler of a signal, which unwinds the stack. The handler
/// allocates nothing, and the unwinder takes no lock, or the dynamic linker's, which a thread may take again: so it may
/// interrupt a thread anywhere, as in `malloc` or `dlopen`. Names are looked up later, on the thread of the reports, in
/// the files of the modules that were loaded then. The handler stays installed for the rest of the process's life, even
/// without a monitor. The signal interrupts the thread: most system calls are restarted, but those that Linux never
/// restarts, such as `nanosleep` (and so `sleep` and `usleep`), `poll` and `epoll_wait`, return early with `EINTR`.
/// Code that is not prepared for that needs `signal: nil`, and has no backtraces. The monitor unblocks the signal on
/// the threads of the loops that it watches. Functions have names if their file has symbols.
///
/// **Threads.** Any thread may call everything here. A second thread of the monitor calls the handler, with one report
/// after the other: the watcher's goes on watching, however long the handler takes. Dropping the monitor ends both, the
/// second once the handler has had the reports that wait.
public final class StallMonitor: Sendable {
    /// 100 ms, which people notice; 250 ms; and a second.
    public static var defaultThresholds: [Duration] { [.milliseconds(100), .milliseconds(250), .seconds(1)] }

    /// SIGURG, which is ignored by default, and which few programs handle.
    public static var defaultSignal: Int32 { System.defaultBacktraceSignal }

    /// Writes reports to stderr.
    public static let printing: @Sendable (StallReport) -> Void = { System.complain("RunLoopKit: \($0)") }

    /// How long a thread may take to answer a signal: one that does not run, or blocks the signal, never does.
    private static let patience: Int64 = 50_000_000

    private let watcher: StallWatcher
    private let thread: LoopThread
    private let reports: LoopThread
    private let timer: Loop.Timer

    /// Starts the watcher's thread. It watches no loop yet: see ``watch(_:name:)``.
    ///
    /// - Parameters:
    ///   - thresholds: How long handlers may take. At least one of more than zero; otherwise traps.
    ///   - signal: The signal by which backtraces are taken, for the rest of the process's life, or nil for none. All
    ///     monitors of a process may have the same.
    ///   - handler: Called with each report, in their order, on a thread of the monitor's for that. Prints to stderr by
    ///     default.
    /// - Throws: `LoopError` with EBUSY if the program itself handles the signal, EINVAL if there is no such signal,
    ///   or as `LoopThread.init` does.
    public init(
        thresholds: [Duration] = defaultThresholds, signal: Int32? = defaultSignal,
        handler: @escaping @Sendable (StallReport) -> Void = printing
    ) throws(LoopError) {
        if let signal { try System.prepareBacktraces(by: signal) }
        let rules = StallRules(
            thresholds: thresholds.map(\.wholeNanoseconds), isTraced: { ThreadStatus.isTraced },
            // A thread that a thread of Dispatch has started blocks it.
            prepareThread: { if let signal { System.unblock(signal) } },
            takeBacktrace: { thread in
                signal.flatMap { System.sample(ofThread: thread, by: $0, within: StallMonitor.patience) }
            })
        (watcher, thread, reports, timer) = try StallMonitor.start(rules, handler)
    }

    /// With a system that is a test's.
    init(_ rules: StallRules, handler: @escaping @Sendable (StallReport) -> Void) throws(LoopError) {
        (watcher, thread, reports, timer) = try StallMonitor.start(rules, handler)
    }

    private static func start(
        _ rules: StallRules, _ handler: @escaping @Sendable (StallReport) -> Void
    ) throws(LoopError) -> (StallWatcher, thread: LoopThread, reports: LoopThread, Loop.Timer) {
        let reports = try LoopThread(name: "StallReports")
        let thread: LoopThread
        do throws(LoopError) {
            thread = try LoopThread(name: "StallMonitor")
        } catch {
            reports.stop()
            reports.join()
            throw error
        }
        let watcher = StallWatcher(
            rules, now: { System.monotonicNanoseconds() },
            // A refusal, once the monitor is gone, is no mistake.
            later: { _ = reports.loop.performCancellable(in: .common, label: "stall report", $0) },
            handler: handler)
        // Repeating, since a timer that fires once ends then.
        let timer = Loop.Timer(every: .seconds(3600)) { firing in StallMonitor.look(watcher, firing.timer) }
        thread.loop.add(timer, in: .default)
        return (watcher, thread, reports, timer)
    }

    deinit {
        timer.invalidate()
        watcher.unwatchAll()
    }

    /// Watches a loop from now on, until it ends. The monitor does not keep it alive. Does nothing if it watches the
    /// loop already.
    ///
    /// - Parameters:
    ///   - loop: The loop to watch.
    ///   - name: The loop's name in reports.
    public func watch(_ loop: Loop, name: String) {
        guard watcher.watch(loop, name: name) else { return }
        // On the watcher's thread, since a look that ends now would stop the timer.
        thread.perform { [watcher, timer] in StallMonitor.look(watcher, timer) }
    }

    /// Looks, and sets the time of the next look. On the watcher's thread.
    private static func look(_ watcher: StallWatcher, _ timer: Loop.Timer) {
        timer.nextFireTime = watcher.check(at: System.monotonicNanoseconds()).map { Loop.Instant(nanoseconds: $0) }
    }

    /// Watches the loop of a thread, as ``watch(_:name:)`` does, under the thread's name.
    public func watch(_ thread: LoopThread) { watch(thread.loop, name: thread.name) }

    /// Stops watching a loop. Reports of it that wait for the handler still arrive; the end of a stall that has been
    /// reported is not reported any more. Does not wait for handlers.
    public func unwatch(_ loop: Loop) { watcher.unwatch(loop) }

    /// Waits until all stalls that have ended, and thresholds that have passed, are reported, and the handler has
    /// returned: for a program or a test that looks at its reports. From any thread; inside the monitor's own handler
    /// it does nothing.
    public func flush() {
        if reports.isCurrent { return }
        try? thread.performAndWait { [watcher, timer] in StallMonitor.look(watcher, timer) }
        try? reports.performAndWait {}
    }

    /// What a loop has done since the monitor began to watch it; nil if it does not, or the loop has ended. The last
    /// ones are there in an `Loop.onEnd(_:)` handler. Does not stop the loop.
    public func metrics(of loop: Loop) -> LoopMetrics? { watcher.metrics(of: loop) }
}
