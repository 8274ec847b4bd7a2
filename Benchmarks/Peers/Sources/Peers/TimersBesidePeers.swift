import Foundation
import NIOCore
import NIOPosix
#if canImport(CLibUV)
    import CLibUV
#endif
#if canImport(CLibEvent)
    import CLibEvent
#endif
#if canImport(CGLib)
    import CGLib
#endif

/// Timeouts that hardly ever fire: one of many timers, at random, is cancelled and another one added; or it gets
/// another time.
struct TimersBesidePeers: Scenario {
    enum Change { case replaced, retimed }

    let name: String
    let change: Change
    let size: Int

    var summary: String { "One of \(size) timers, at random, is \(change)." }

    init(_ name: String, _ change: Change, _ size: Int) { (self.name, self.change, self.size) = (name, change, size) }

    func run(_ effort: Effort) throws -> Outcome {
        let (size, change) = (size, change)
        let operation = change == .replaced ? "timers-random@\(size)" : "timers-retime-random@\(size)"
        var subjects: [any OperationSubject] = [
            ClockReads(), try Operation.named(operation).onThread(Outcome.kit),
        ]
        // It searches all tasks for the one to cancel, and has no call that gives one another time.
        if size <= 1_000, change == .replaced { subjects.append(NIOTimers(size)) }
        #if canImport(CLibUV)
            subjects.append(try ThreadOperation("libuv") { makeUVTimers(size, change) })
        #endif
        #if canImport(CLibEvent)
            subjects.append(try ThreadOperation("libevent") { makeEventTimers(size, change) })
        #endif
        #if canImport(CGLib)
            subjects.append(try ThreadOperation("GLib") { makeGLibTimers(size, change) })
        #endif
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) timers",
            rows: subjects.measured(name, effort), bare: "clock_gettime")
    }
}

/// In milliseconds.
private func delay(_ random: inout Scatter, _ size: Int) -> Int { 3_600_000 + random.next(below: size) }

private final class ClockReads: OperationSubject {
    let name = "clock_gettime"

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for _ in 0..<count { _ = monotonicNow() }
        return monotonicNow() - start
    }
}

/// On the loop's thread.
private final class NIOTimers: OperationSubject, @unchecked Sendable {
    let name = "SwiftNIO"
    private let size: Int
    private let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
    private var random = Scatter()
    private var timers: [Scheduled<Void>] = []

    init(_ size: Int) {
        self.size = size
        timers = (0..<size).map { _ in add() }
    }

    private func add() -> Scheduled<Void> { loop.scheduleTask(in: .milliseconds(Int64(delay(&random, size)))) {} }

    func measure(_ count: Int) -> Int64 {
        try! loop.submit { [self] in
            let start = monotonicNow()
            for _ in 0..<count {
                let index = random.next(below: size)
                timers[index].cancel()
                timers[index] = add()
            }
            return monotonicNow() - start
        }.wait()
    }
}

#if canImport(CLibUV)
    private func makeUVTimers(_ size: Int, _ change: TimersBesidePeers.Change) -> ThreadOperation.Body {
        let loop = UVLoop {}.loop
        var random = Scatter()
        let timers = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: size)
        func start(_ index: Int) { uv_timer_start(timers + index, { _ in }, UInt64(delay(&random, size)), 0) }
        for index in 0..<size {
            uv_timer_init(loop, timers + index)
            start(index)
        }
        return { count in
            for _ in 0..<count {
                let index = random.next(below: size)
                if change == .replaced { uv_timer_stop(timers + index) }
                start(index)
            }
        }
    }
#endif

#if canImport(CLibEvent)
    private func makeEventTimers(_ size: Int, _ change: TimersBesidePeers.Change) -> ThreadOperation.Body {
        let base = EventBase()
        var random = Scatter()
        func start(_ event: UnsafeMutablePointer<event>?) {
            let delay = delay(&random, size)
            var time = timeval(tv_sec: delay / 1_000, tv_usec: delay % 1_000 * 1_000)
            event_add(event, &time)
        }
        func add() -> UnsafeMutablePointer<event>? {
            let event = event_new(base.base, -1, 0, { _, _, _ in }, nil)
            start(event)
            return event
        }
        var timers = (0..<size).map { _ in add() }
        return { count in
            for _ in 0..<count {
                let index = random.next(below: size)
                if change == .retimed {
                    start(timers[index])
                } else {
                    event_free(timers[index])
                    timers[index] = add()
                }
            }
        }
    }
#endif

#if canImport(CGLib)
    private func makeGLibTimers(_ size: Int, _ change: TimersBesidePeers.Change) -> ThreadOperation.Body {
        let context = g_main_context_new()
        var random = Scatter()
        func add() -> UnsafeMutablePointer<GSource>? {
            let source = g_timeout_source_new(guint(delay(&random, size)))
            g_source_set_callback(source, { _ in 0 }, nil, nil)
            g_source_attach(source, context)
            return source
        }
        var timers = (0..<size).map { _ in add() }
        return { count in
            for _ in 0..<count {
                let index = random.next(below: size)
                if change == .retimed {
                    g_source_set_ready_time(
                        timers[index], g_get_monotonic_time() + gint64(delay(&random, size)) * 1_000)
                } else {
                    g_source_destroy(timers[index])
                    g_source_unref(timers[index])
                    timers[index] = add()
                }
            }
        }
    }
#endif
