import LoopTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// What loops are measured by, in time that the tests move.
@Suite(.timeBound) struct LoopMetricsTests {
    @Test("The utilisation is the time in handlers by the time awake")
    func utilisation() {
        let scene = RecorderScene()
        let recorder = scene.recorder!
        recorder.reached(.entry, in: .default)
        for _ in 1...2 {
            recorder.reached(.beforeTimers, in: .default)
            scene.pass(10)
            recorder.willCallOut(Callout(.block))
            scene.pass(30)
            recorder.didCallOut(Callout(.block))
            recorder.reached(.beforeWaiting, in: .default)
            scene.pass(1000)
            recorder.reached(.afterWaiting, in: .default)
        }
        let metrics = scene.metrics
        #expect(metrics.timeInCallouts == .milliseconds(60) && metrics.timeAwake == .milliseconds(80))
        #expect(metrics.utilisation == 0.75 && metrics.callouts == 2)
        #expect(
            "\(metrics)" == """
                2 calls of handlers took 60.0 ms of 80.0 ms awake; 0 stalls
                passes: 1, median 40.0 ms, 99 % within 40.0 ms, at most 40.0 ms
                lateness of timers: none
                waiting: nothing
                """)
        // A snapshot has the part of the present handler.
        recorder.willCallOut(Callout(.block))
        scene.pass(20)
        #expect(scene.metrics.timeInCallouts == .milliseconds(80) && scene.metrics.utilisation == 0.8)
        recorder.didCallOut(Callout(.block))
        recorder.reached(.exit, in: .default)
        scene.pass(10_000)
        #expect(scene.metrics.timeAwake == .milliseconds(100))
    }

    @Test("The next snapshot has what one has counted while the loop's thread was between its clock and its record")
    func onlyGrows() {
        let scene = RecorderScene()
        let recorder = scene.recorder!
        recorder.reached(.entry, in: .default)
        recorder.willCallOut(Callout(.block))
        scene.pass(10)
        var snapshots: [LoopMetrics] = []
        /// The loop's thread does not run for 15 milliseconds after it has looked at the clock.
        func preempted(_ event: () -> Void) {
            scene.afterLook = {
                scene.afterLook = nil
                scene.pass(15)
                snapshots.append(scene.metrics)
            }
            event()
            snapshots.append(scene.metrics)
        }
        preempted { recorder.didCallOut(Callout(.block)) }
        preempted { recorder.reached(.exit, in: .default) }
        let times = snapshots.map { [$0.timeInCallouts, $0.timeAwake].map { $0 / .milliseconds(1) } }
        #expect(times == [[25, 25], [25, 25], [25, 40], [25, 40]])
        for (earlier, later) in zip(snapshots, snapshots.dropFirst()) {
            #expect(later.since(earlier).timeInCallouts >= .zero && later.since(earlier).timeAwake >= .zero)
        }
        // Until the loop has accounted for as much, the snapshots stay the same.
        recorder.reached(.entry, in: .default)
        recorder.willCallOut(Callout(.block))
        scene.pass(20)
        recorder.didCallOut(Callout(.block))
        #expect(scene.metrics.timeInCallouts == .milliseconds(30))
    }

    @Test("A snapshot that never finds the loop's thread between two changes has the time awake with that in handlers")
    func changingAllTheTime() {
        let scene = RecorderScene()
        let recorder = scene.recorder!
        recorder.reached(.entry, in: .default)
        scene.pass(10)
        recorder.willCallOut(Callout(.block))
        scene.pass(30)
        recorder.didCallOut(Callout(.block))
        let metrics = recorder.activity.metrics(at: 40_000_000, WaitingWork(), tries: 0)
        #expect(metrics.timeInCallouts == .milliseconds(30) && metrics.timeAwake == .milliseconds(40))
    }

    @Test("A loop that never ran has the utilisation zero")
    func neverRan() {
        let scene = RecorderScene()
        scene.pass(1000)
        #expect(scene.metrics.utilisation == 0 && scene.metrics.passes.count == 0)
        #expect(scene.metrics.passes.percentile(50) == .zero && scene.metrics.passes.maximum == .zero)
    }

    @Test("The sleep of a nested run is no time in a handler")
    func nestedSleep() {
        let scene = RecorderScene()
        let recorder = scene.recorder!
        recorder.reached(.beforeTimers, in: .default)
        recorder.willCallOut(Callout(.block))
        scene.pass(10)
        recorder.reached(.entry, in: .tracking)
        recorder.reached(.beforeTimers, in: .tracking)
        recorder.reached(.beforeWaiting, in: .tracking)
        scene.pass(500)
        recorder.reached(.afterWaiting, in: .tracking)
        recorder.reached(.exit, in: .tracking)
        scene.pass(10)
        recorder.didCallOut(Callout(.block))
        recorder.reached(.exit, in: .default)
        #expect(scene.metrics.timeInCallouts == .milliseconds(20) && scene.metrics.timeAwake == .milliseconds(20))
        #expect(scene.metrics.passes.count == 2 && scene.metrics.passes.maximum == .milliseconds(20))
    }

    @Test("Passes are measured without their sleep")
    func passes() {
        let scene = RecorderScene()
        let recorder = scene.recorder!
        for length in 1...100 {
            recorder.reached(.beforeTimers, in: .default)
            recorder.reached(.beforeWaiting, in: .default)
            scene.pass(10_000)
            recorder.reached(.afterWaiting, in: .default)
            scene.pass(Int64(length))
        }
        recorder.reached(.exit, in: .default)
        let passes = scene.metrics.passes
        #expect(passes.count == 100 && passes.maximum == .milliseconds(100))
        #expect(passes.percentile(50) >= .milliseconds(50) && passes.percentile(50) < .milliseconds(54))
        #expect(passes.percentile(100) == .milliseconds(100))
    }

    @Test("A program counts durations of its own as a loop does")
    func ownHistogram() {
        let recorder = HistogramRecorder()
        var own = DurationHistogram()
        #expect(own.bars() == "none")
        #expect(own == recorder.snapshot && own.description == "none")
        for nanoseconds: Int64 in [-5, 0, 17, 1_000_000, 3_000_000, .max] {
            recorder.record(nanoseconds)
            own.record(.nanoseconds(nanoseconds))
            #expect(own == recorder.snapshot)
        }
        let before = own
        own.record(.milliseconds(2))
        #expect(own.since(before).count == 1 && own.since(before).percentile(50) >= .milliseconds(2))
    }

    @Test("A histogram is drawn from its first limit to its last, and what is there can be seen")
    func bars() {
        var histogram = DurationHistogram()
        for microseconds: Int64 in [20, 20, 21] + Array(repeating: 150, count: 100) + [900] {
            histogram.record(.microseconds(microseconds))
        }
        let lines = [
            "20.0 µs  2      #", "50.0 µs  1      #", "100 µs   0", "200 µs   100    ##########", "500 µs   0",
            "1.00 ms  1      #",
        ]
        #expect(histogram.bars(width: 10).split(separator: "\n").map(String.init) == lines)
        #expect(histogram.bars(width: -1).split(separator: "#").count == 4)
        var extremes = DurationHistogram()
        for nanoseconds: Int64 in [0, .max] { extremes.record(.nanoseconds(nanoseconds)) }
        let ends = extremes.bars(width: 1).split(separator: "\n")
        #expect(ends.first == "1 ns     1      #" && ends.last == "20000 s  1      #")
    }

    @Test("The difference of two snapshots is what happened between them")
    func since() {
        let scene = RecorderScene()
        let recorder = scene.recorder!
        func pass(of length: Int64) {
            recorder.reached(.beforeTimers, in: .default)
            scene.pass(length)
            recorder.willCallOut(Callout(.timer, lateness: length * 1_000_000))
            scene.pass(length)
            recorder.didCallOut(Callout(.timer))
            recorder.reached(.beforeWaiting, in: .default)
            recorder.reached(.afterWaiting, in: .default)
        }
        for length: Int64 in [100, 1] { pass(of: length) }
        recorder.reached(.exit, in: .default)
        let first = scene.metrics
        for length: Int64 in [10, 20] { pass(of: length) }
        recorder.reached(.exit, in: .default)
        let between = scene.metrics.since(first)
        #expect(between.timeInCallouts == .milliseconds(30) && between.timeAwake == .milliseconds(60))
        #expect(between.callouts == 2 && between.utilisation == 0.5)
        #expect(between.passes.count == 2 && between.timerLateness.count == 2)
        #expect(between.timerLateness.maximum >= .milliseconds(20) && between.timerLateness.maximum < .milliseconds(22))
        #expect(between.timerLateness.percentile(100) == between.timerLateness.maximum)
        // A maximum that is new is exact.
        let second = scene.metrics
        pass(of: 200)
        #expect(scene.metrics.since(second).timerLateness.maximum == .milliseconds(200))
        #expect(scene.metrics.since(scene.metrics).timerLateness.maximum == .zero)
    }

    @Test("The difference to a snapshot of a watch that has ended is all of the present watch")
    func sinceAnotherWatch() throws {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        func metrics(after count: Int) throws -> LoopMetrics {
            for _ in 0..<count { loop.perform {} }
            loop.run(mode: .default, for: .zero)
            return try #require(scene.watcher.metrics(of: loop))
        }
        scene.watch(loop)
        let before = try metrics(after: 3)
        scene.watcher.unwatch(loop)
        scene.watch(loop)
        let after = try metrics(after: 2)
        #expect(after.since(before) == after && after.callouts == 2)
        #expect(try metrics(after: 4).since(after).callouts == 4)
    }

    @Test("A pass that a host makes in a handler counts, even the last one there")
    func passInHandler() throws {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        _ = try loop.hosting.begin()
        for count in 1...2 {
            loop.perform {
                scene.pass(3)
                for _ in 1...count { loop.hosting.pass() }
            }
            while loop.hosting.pass() == .more {}
        }
        loop.hosting.end()
        let passes = try #require(scene.watcher.metrics(of: loop)).passes
        #expect(passes.count == loop.counters.passes && passes.count >= 5)
        #expect(passes.maximum == .milliseconds(3))
    }

    @Test("The lateness of timers is measured")
    func lateness() throws {
        let scene = StallScene()
        let (loop, clock) = Loop.inVirtualTime()
        scene.watch(loop)
        loop.add(Loop.Timer(after: .milliseconds(1)) { _ in clock.advance(by: .milliseconds(40)) }, in: .default)
        loop.add(Loop.Timer(after: .milliseconds(11)) { _ in }, in: .default)
        loop.run()
        let lateness = try #require(scene.watcher.metrics(of: loop)).timerLateness
        #expect(lateness.count == 2 && lateness.maximum == .milliseconds(30) && lateness.percentile(50) == .zero)
    }

    @Test("The last metrics are there at the loop's end, and none after it")
    func end() throws {
        let thread = try LoopThread()
        let monitor = try StallMonitor { _ in }
        monitor.watch(thread)
        let (loop, atEnd) = (thread.loop, Log<Bool>())
        let handler = loop.onEnd { atEnd.add(monitor.metrics(of: loop) != nil) }
        thread.stop()
        thread.join()
        #expect(atEnd.entries == [true] && monitor.metrics(of: loop) == nil)
        withExtendedLifetime(handler) {}
    }

    /// A pass hands over up to 64 messages.
    @Test("Each message is a call of its own, and none of them a stall")
    func messages() throws {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        let port = Loop.MessagePort<Int> { _ in scene.pass(3) }
        loop.add(port)
        for number in 1...64 { port.send(number) }
        loop.run(mode: .default, for: .zero)
        let metrics = try #require(scene.watcher.metrics(of: loop))
        #expect(metrics.passes.count == 1 && metrics.callouts == 64 && metrics.timeInCallouts == .milliseconds(192))
        #expect(metrics.stalls == 0 && scene.reports.entries.isEmpty)
        loop.end()
    }

    @Test("A snapshot counts what waits, and does not change")
    func waiting() throws {
        let scene = StallScene()
        let (loop, _) = Loop.inVirtualTime()
        scene.watch(loop)
        for _ in 1...3 { loop.perform {} }
        let before = try #require(scene.watcher.metrics(of: loop))
        #expect(before.waiting == WaitingWork(blocks: 3))
        loop.run(mode: .default, for: .zero)
        let after = try #require(scene.watcher.metrics(of: loop))
        #expect(before.waiting.blocks == 3 && after.waiting.total == 0 && after.callouts == 3)
        #expect(scene.watcher.metrics(of: Loop.inVirtualTime().0) == nil)
    }

    @Test("A percentile is at most a sixteenth too long")
    func percentiles() {
        var random = SplitMix(4711)
        for _ in 1...50 {
            let recorder = HistogramRecorder()
            let bits = Int64.random(in: 1...47, using: &random)
            let values = (0..<200).map { _ in Int64.random(in: 0..<(1 << bits), using: &random) }
            for value in values { recorder.record(value) }
            let (histogram, sorted) = (recorder.snapshot, values.sorted())
            #expect(histogram.count == 200 && histogram.maximum == .nanoseconds(sorted.last!))
            for percent in [0.5, 10, 50, 90, 99, 100] {
                let exact = sorted[max(0, Int((percent * 2).rounded(.up)) - 1)]
                let found = histogram.percentile(percent).wholeNanoseconds
                #expect(found >= exact)
                #expect(found <= max(exact + exact / 16 + 1, exact >= 1 << 44 ? .max : 0))
            }
        }
    }

    @Test("Durations beyond the range count as the longest, negative ones as zero")
    func extremes() {
        let recorder = HistogramRecorder()
        for value in [-5, 0, .max] as [Int64] { recorder.record(value) }
        #expect(recorder.snapshot.count == 3 && recorder.snapshot.maximum == .nanoseconds(Int64.max))
        #expect(recorder.snapshot.percentile(60) == .zero)
        #expect(recorder.snapshot.percentile(-1) == .zero)
        #expect(recorder.snapshot.percentile(1000) == .nanoseconds(Int64.max))
    }
}

/// A recorder that a test notifies, and its clock.
private final class RecorderScene: @unchecked Sendable {
    private let time = Atomic<Int64>(0)
    private(set) var recorder: LoopRecorder!
    /// Called when the recorder has looked at the clock, before it uses what it saw.
    var afterLook: (() -> Void)?

    init() {
        recorder = LoopRecorder(threshold: .max, now: { [unowned self] in look() }, prepareThread: {})
    }

    private func look() -> Int64 {
        let seen = time.load(ordering: .relaxed)
        afterLook?()
        return seen
    }

    func pass(_ milliseconds: Int64) { time.add(milliseconds * 1_000_000, ordering: .relaxed) }

    var metrics: LoopMetrics { recorder.activity.metrics(at: time.load(ordering: .relaxed), WaitingWork()) }
}
