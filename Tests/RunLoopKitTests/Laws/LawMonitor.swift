@testable import RunLoopKit

/// The law of what monitors learn: each callout that a loop reports is one call of a handler. All loops of a program
/// are on one thread, and have one monitor.
final class LawMonitor: LoopMonitor, @unchecked Sendable {
    /// The numbers of handlers that were called in the callouts in progress, innermost last.
    private var calls: [Int] = []
    private let report: (String) -> Void

    init(report: @escaping (String) -> Void) { self.report = report }

    /// A handler of the program has been called.
    func handlerBegins() { if !calls.isEmpty { calls[calls.count - 1] += 1 } }

    func willCallOut(_ callout: Callout) { calls.append(0) }

    func didCallOut(_ callout: Callout) {
        guard let count = calls.popLast() else { return report("the end of a callout that has not begun") }
        // Loops of the laws also have observers of their own.
        guard callout.kind != .observer, count != 1 else { return }
        report("\(count) handlers were called in one callout: \(callout.item.map { "\($0)" } ?? "a block")")
    }
}
