import RunLoopKit
import Synchronization

/// What a watcher reports, and what it asks the system for.
final class StallRules: Sendable {
    /// In nanoseconds, ascending; at least one.
    let thresholds: [Int64]

    /// Whether a debugger, or another tracing process, is attached.
    let isTraced: @Sendable () -> Bool

    /// Called on the thread of a loop at its first event.
    let prepareThread: @Sendable () -> Void

    /// Returns where the thread with this number is; nil if it does not say.
    let takeBacktrace: @Sendable (Int32) -> System.Sample?

    /// Returns the backtrace with names. Called where the handler is.
    let findNames: @Sendable (Backtrace) -> Backtrace

    private let lastNumber = Atomic<Int>(0)

    init(
        thresholds: [Int64], isTraced: @escaping @Sendable () -> Bool,
        prepareThread: @escaping @Sendable () -> Void, takeBacktrace: @escaping @Sendable (Int32) -> System.Sample?,
        findNames: @escaping @Sendable (Backtrace) -> Backtrace = { $0.named() }
    ) {
        require(
            thresholds.contains { $0 > 0 },
            "a StallMonitor with the thresholds \(thresholds.map { Duration.nanoseconds($0) }) reports nothing. Give "
                + "one of more than zero, or StallMonitor.defaultThresholds.")
        self.thresholds = thresholds.filter { $0 > 0 }.sorted()
        self.isTraced = isTraced
        self.prepareThread = prepareThread
        self.takeBacktrace = takeBacktrace
        self.findNames = findNames
    }

    /// The number of a new stall. Relaxed: it orders nothing.
    func nextNumber(countedFor recorder: LoopRecorder) -> Int {
        recorder.activity.countStall()
        return lastNumber.add(1, ordering: .relaxed).newValue
    }
}
