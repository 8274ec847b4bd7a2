import CLinux
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

/// A timer comes and leaves again while many others wait.
struct TimersBesidePeers: Scenario {
    let name: String
    let size: Int

    var summary: String { "A timer is added to \(size) others, and invalidated." }

    init(_ name: String, _ size: Int) { (self.name, self.size) = (name, size) }

    func run(_ effort: Effort) throws -> Outcome {
        let size = size
        var subjects: [any OperationSubject] = [
            ClockReads(), try Operation.named("timers@\(size)").onThread(Outcome.kit),
            try Operation.named("timers-stop-start@\(size)").onThread("RunLoopKit, stop and start"),
            try Operation.named("timers-retime@\(size)").onThread("RunLoopKit, re-time"),
        ]
        // It searches all tasks for the one to cancel.
        if size <= 100_000 { subjects.append(NIOTimers(size)) }
        #if canImport(CLibUV)
            subjects.append(try ThreadOperation("libuv") { makeUVTimers(size, again: false) })
            subjects.append(try ThreadOperation("libuv, re-time") { makeUVTimers(size, again: true) })
        #endif
        #if canImport(CLibEvent)
            subjects.append(try ThreadOperation("libevent") { makeEventTimers(size) })
        #endif
        #if canImport(CGLib)
            subjects.append(try ThreadOperation("GLib") { makeGLibTimers(size) })
        #endif
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) timers",
            rows: subjects.measured(name, effort), bare: "clock_gettime",
            notes: [
                "RunLoopKit, SwiftNIO, libevent, GLib: a new timer each time.",
                "libuv, and RunLoopKit where it says so: one that exists is stopped and started.",
            ])
    }
}

/// In milliseconds, in a fixed order that looks random.
private func delay(_ number: Int, _ size: Int) -> Int { 3_600_000 + number * 7_919 % size }

private final class ClockReads: OperationSubject {
    let name = "clock_gettime"

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for _ in 0..<count { _ = monotonicNow() }
        return monotonicNow() - start
    }
}

/// On the loop's thread. A cancelled task leaves the loop's queue.
private final class NIOTimers: OperationSubject {
    let name = "SwiftNIO"
    private let size: Int
    private let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

    init(_ size: Int) {
        self.size = size
        for number in 0..<size { loop.scheduleTask(in: .milliseconds(Int64(delay(number, size)))) {} }
    }

    func measure(_ count: Int) -> Int64 {
        try! loop.submit { [loop, size] in
            let start = monotonicNow()
            for number in 0..<count { loop.scheduleTask(in: .milliseconds(Int64(delay(number, size)))) {}.cancel() }
            return monotonicNow() - start
        }.wait()
    }
}

#if canImport(CLibUV)
    /// - Parameter again: Whether one timer is started again instead of another one started and stopped.
    private func makeUVTimers(_ size: Int, again: Bool) -> ThreadOperation.Body {
        let loop = UVLoop {}.loop
        // The memory of a handle belongs to the program.
        let timers = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: size + 1)
        for number in 0...size {
            uv_timer_init(loop, timers + number)
            uv_timer_start(timers + number, { _ in }, UInt64(delay(number, size)), 0)
        }
        return { count in
            for number in 0..<count {
                if !again { uv_timer_stop(timers + size) }
                uv_timer_start(timers + size, { _ in }, UInt64(delay(number, size)), 0)
            }
        }
    }
#endif

#if canImport(CLibEvent)
    private func makeEventTimers(_ size: Int) -> ThreadOperation.Body {
        let base = EventBase()
        let add = { (number: Int) -> UnsafeMutablePointer<event>? in
            let event = event_new(base.base, -1, 0, { _, _, _ in }, nil)
            var time = timeval(tv_sec: delay(number, size) / 1_000, tv_usec: delay(number, size) % 1_000 * 1_000)
            event_add(event, &time)
            return event
        }
        for number in 0..<size { _ = add(number) }
        return { count in for number in 0..<count { event_free(add(number)) } }
    }
#endif

#if canImport(CGLib)
    private func makeGLibTimers(_ size: Int) -> ThreadOperation.Body {
        let context = g_main_context_new()
        let add = { (number: Int) -> UnsafeMutablePointer<GSource>? in
            let source = g_timeout_source_new(guint(delay(number, size)))
            g_source_set_callback(source, { _ in 0 }, nil, nil)
            g_source_attach(source, context)
            return source
        }
        for number in 0..<size { _ = add(number) }
        return { count in
            for number in 0..<count {
                let source = add(number)
                g_source_destroy(source)
                g_source_unref(source)
            }
        }
    }
#endif
