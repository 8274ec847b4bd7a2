import CAllocator
import Foundation
import RunLoopKit
#if canImport(CLibUV)
    import CLibUV
#endif
#if canImport(CLibEvent)
    import CLibEvent
#endif

/// A million timers are started, fire and are closed: the thread's CPU time for each, and the bytes of each.
struct MillionTimers: Scenario {
    let name = "million-timers"
    let summary = "A million timers on one loop are started, fire and are closed."

    func run(_ effort: Effort) throws -> Outcome {
        let count = 2_000 * effort.operationsPerRound / (effort.operationRounds > 5 ? 1 : 20)
        var subjects: [any TimerCrowd.Type] = [HeapCrowd.self, KitCrowd.self]
        #if canImport(CLibUV)
            subjects.append(UVCrowd.self)
        #endif
        #if canImport(CLibEvent)
            subjects.append(EventCrowd.self)
        #endif
        var costs = subjects.map { _ in [TimerCrowdCosts]() }
        subjects.takingTurns(rounds: 2, name) { index, subject in costs[index].append(TimerCrowdCosts(subject, count)) }
        return Outcome(
            scenario: name, title: "\(count) timers", rows: zip(subjects, costs).map { $1.row($0.name) },
            bare: "binary heap",
            notes: [
                "CPU time for each timer. They are due at different times of one second.",
                "libuv: the handles are one array. \(Outcome.kit): an object for each timer, and an array of them.",
            ])
    }
}

/// Timers of one loop, on the thread that makes it.
private protocol TimerCrowd: SendableMetatype {
    static var name: String { get }
    init()
    /// Makes and starts `count` timers.
    func start(_ count: Int)
    /// Returns when all have fired.
    func fire()
    func close()
}

/// When timer `number` is due, in milliseconds: in a fixed order that looks random.
private func delay(_ number: Int) -> Int { number * 7_919 % 1_000 }

private struct TimerCrowdCosts {
    let start, fire, close, bytes: Int64

    init(_ type: any TimerCrowd.Type, _ count: Int) {
        final class Marks: @unchecked Sendable { var times: [Int64] = [], bytes: Int64 = 0 }
        let marks = Marks()
        PlainThread {
            let crowd = type.init()
            let before = callocator_allocated_bytes()
            let steps = [{ crowd.start(count) }, { crowd.fire() }, { crowd.close() }]
            for (number, step) in steps.enumerated() {
                let start = threadCPUNow()
                step()
                marks.times.append((threadCPUNow() - start) / Int64(count))
                if number == 0 { marks.bytes = Int64(callocator_allocated_bytes() - before) / Int64(count) }
            }
        }.join()
        (start, fire, close, bytes) = (marks.times[0], marks.times[1], marks.times[2], marks.bytes)
    }
}

extension [TimerCrowdCosts] {
    /// The least of each step.
    fileprivate func row(_ name: String) -> Row {
        let (start, fire, close) = (map(\.start).min()!, map(\.fire).min()!, map(\.close).min()!)
        return Row(
            name,
            [
                .time("total", start + fire + close), .time("start", start), .time("fire", fire),
                .time("close", close), .count("bytes", Int(self[0].bytes)),
            ])
    }
}

private final class HeapCrowd: TimerCrowd {
    static let name = "binary heap"
    private var heap = DueHeap()

    func start(_ count: Int) {
        let now = monotonicNow()
        for number in 0..<count { heap.insert(number, due: now + Int64(delay(number)) * 1_000_000) }
    }

    func fire() {
        while let first = heap.first {
            let now = monotonicNow()
            if first.due > now { usleep(1_000) }
            while let first = heap.first, first.due <= now { heap.removeFirst() }
        }
    }

    func close() { heap = DueHeap() }
}

private final class KitCrowd: TimerCrowd {
    static let name = Outcome.kit
    private var timers: [Loop.Timer] = []

    func start(_ count: Int) {
        timers.reserveCapacity(count)
        for number in 0..<count {
            let timer = Loop.Timer(after: .milliseconds(delay(number))) { _ in }
            Loop.current.add(timer)
            timers.append(timer)
        }
    }

    /// Without timers the loop has nothing to wait for, and the run returns.
    func fire() { Loop.current.run() }

    func close() {
        for timer in timers { timer.invalidate() }
        timers = []
    }
}

#if canImport(CLibUV)
    private final class UVCrowd: TimerCrowd {
        static let name = "libuv"
        private let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
        private var timers: UnsafeMutablePointer<uv_timer_t>!
        private var count = 0

        init() { check("uv_loop_init", uv_loop_init(loop)) }

        func start(_ count: Int) {
            self.count = count
            timers = .allocate(capacity: count)
            for number in 0..<count {
                uv_timer_init(loop, timers + number)
                uv_timer_start(timers + number, { _ in }, UInt64(delay(number)), 0)
            }
        }

        /// Without active timers the loop ends.
        func fire() { uv_run(loop, UV_RUN_DEFAULT) }

        func close() {
            for number in 0..<count {
                UnsafeMutableRawPointer(timers + number).withMemoryRebound(to: uv_handle_t.self, capacity: 1) {
                    uv_close($0) { _ in }
                }
            }
            uv_run(loop, UV_RUN_DEFAULT)
            uv_loop_close(loop)
            timers.deallocate()
            loop.deallocate()
        }
    }
#endif

#if canImport(CLibEvent)
    private final class EventCrowd: TimerCrowd {
        static let name = "libevent"
        private let base = event_base_new()
        private var timers: [UnsafeMutablePointer<event>?] = []

        func start(_ count: Int) {
            timers.reserveCapacity(count)
            for number in 0..<count {
                let event = event_new(base, -1, 0, { _, _, _ in }, nil)
                var time = timeval(tv_sec: 0, tv_usec: delay(number) * 1_000)
                event_add(event, &time)
                timers.append(event)
            }
        }

        /// Without pending events the loop ends.
        func fire() { event_base_loop(base, 0) }

        func close() {
            for timer in timers { event_free(timer) }
            timers = []
            event_base_free(base)
        }
    }
#endif
