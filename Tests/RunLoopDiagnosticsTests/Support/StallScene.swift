import LoopTestSupport
import Synchronization

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// A watcher of stalls whose time is a number that the test moves. The test may move it inside a handler, which then
/// takes that long.
final class StallScene: @unchecked Sendable {
    let reports = Log<StallReport>()
    /// Loops may outlive the scene, and read its time.
    private final class Time: Sendable {
        let nanoseconds = Atomic<Int64>(0)
        let isTraced = Atomic<Bool>(false)
    }

    private let time = Time()
    private var due: Int64?
    let watcher: StallWatcher

    /// - Parameter thresholds: In milliseconds.
    init(
        thresholds: [Int64] = [100, 250, 1000], prepareThread: @escaping @Sendable () -> Void = {},
        takeBacktrace: @escaping @Sendable (Int32) -> System.Sample? = { _ in nil },
        later: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { $0() }
    ) {
        let rules = StallRules(
            thresholds: thresholds.map { $0 * 1_000_000 },
            isTraced: { [time] in time.isTraced.load(ordering: .relaxed) },
            prepareThread: prepareThread, takeBacktrace: takeBacktrace)
        let now = { @Sendable [time] in time.nanoseconds.load(ordering: .sequentiallyConsistent) }
        watcher = StallWatcher(rules, now: now, later: later) { [reports] in reports.add($0) }
    }

    deinit { watcher.unwatchAll() }

    var now: Int64 { time.nanoseconds.load(ordering: .sequentiallyConsistent) }

    var isTraced: Bool {
        get { time.isTraced.load(ordering: .relaxed) }
        set { time.isTraced.store(newValue, ordering: .relaxed) }
    }

    func watch(_ loop: Loop, name: String = "test") {
        _ = watcher.watch(loop, name: name)
        check()
    }

    /// Lets time pass. The watcher looks whenever it wants to.
    func pass(_ milliseconds: Int64) {
        let end = now + milliseconds * 1_000_000
        while let due, due <= end {
            time.nanoseconds.store(due, ordering: .sequentiallyConsistent)
            check()
        }
        time.nanoseconds.store(end, ordering: .sequentiallyConsistent)
    }

    /// Lets time pass in which the watcher does not run, as if the process were stopped.
    func passUnwatched(_ milliseconds: Int64) {
        time.nanoseconds.add(milliseconds * 1_000_000, ordering: .sequentiallyConsistent)
    }

    /// Makes the watcher look now. Returns when it wants to look again.
    @discardableResult
    func check() -> Int64? {
        due = watcher.check(at: now)
        return due
    }

    /// The reports' stages and durations, such as `exceeded 100: 100` and `ended: 120`, in milliseconds.
    var story: [String] {
        reports.entries.map { report in
            let duration = report.duration.wholeNanoseconds / 1_000_000
            return switch report.stage {
            case .exceeded(let threshold): "exceeded \(threshold.wholeNanoseconds / 1_000_000): \(duration)"
            case .ended: "ended: \(duration)"
            }
        }
    }
}

/// Milliseconds on the scene's clock.
func milliseconds(_ count: Int64) -> Loop.Instant { Loop.Instant(nanoseconds: count * 1_000_000) }
