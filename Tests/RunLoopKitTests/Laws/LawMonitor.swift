@testable import RunLoopKit

/// The laws of what monitors learn. All loops of a program are on one thread, and have one monitor.
///
/// Each callout that a loop reports is one call of a handler. No loop goes to sleep while a block that has woken it
/// waits for the mode of the run, whichever run has taken the wake-up. One exception is CFRunLoop's, too: blocks that
/// were posted for `common` wait for the next pass when the mode of a run becomes common.
final class LawMonitor: LoopMonitor, @unchecked Sendable {
    /// The numbers of handlers that were called in the callouts in progress, innermost last.
    private var calls: [Int] = []
    /// Those that became common since a pass in them began last.
    var newCommonModes: Set<Loop.Mode> = []
    private let hasBlock: (Loop.Mode) -> Bool
    private let isOfProgram: (Loop.Item) -> Bool
    private let report: (String) -> Void

    /// - Parameters:
    ///   - hasBlock: Whether a block waits for a mode of the loop of the innermost run.
    ///   - isOfProgram: Whether an item is one of the program's, and no limiter's timer.
    init(
        hasBlock: @escaping (Loop.Mode) -> Bool, isOfProgram: @escaping (Loop.Item) -> Bool,
        report: @escaping (String) -> Void
    ) {
        (self.hasBlock, self.isOfProgram, self.report) = (hasBlock, isOfProgram, report)
    }

    /// A handler of the program has been called.
    func handlerBegins() { if !calls.isEmpty { calls[calls.count - 1] += 1 } }

    func reached(_ activity: Loop.Activity, in mode: Loop.Mode) {
        if activity == .beforeTimers { newCommonModes.remove(mode) }
    }

    func willCallOut(_ callout: Callout) { calls.append(0) }

    func willWait(until deadline: Int64, in mode: Loop.Mode) {
        guard !newCommonModes.contains(mode), hasBlock(mode) else { return }
        report("a run in \(mode) goes to sleep, and a block waits for it")
    }

    func didCallOut(_ callout: Callout) {
        guard let count = calls.popLast() else { return report("the end of a callout that has not begun") }
        // Loops of the laws also have observers of their own.
        guard callout.kind != .observer, count != 1 else { return }
        // The timer of a limiter calls any number of actions, and none if it is too early.
        if callout.kind == .timer, count == 0, let item = callout.item, !isOfProgram(item) { return }
        // A block of a limiter acts on what another thread has handed over, if nothing has yet.
        if callout.kind == .block, "\(callout.place)".contains("LawLimiter") { return }
        report("\(count) handlers were called in one callout: \(callout.item.map { "\($0)" } ?? "a block")")
    }
}
