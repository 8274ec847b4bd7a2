import LoopTestSupport

@testable import RunLoopDiagnostics
@testable import RunLoopKit
@testable import RunLoopRules

/// A loop in virtual time, and detectors that record their reports.
struct FeedbackScene {
    let loop: Loop
    let clock: VirtualClock
    let reports = Log<FeedbackLoopDetector.Report>()

    init() { (loop, clock) = Loop.inVirtualTime() }

    /// A detector that reports at ten calls.
    func detector(
        typeThreshold: Int? = nil, backtraceDepth: Int = 0, drops: Bool = false,
        label: (@Sendable (AnyObject) -> String?)? = { ($0 as? Panel)?.name }
    ) -> FeedbackLoopDetector {
        FeedbackLoopDetector(
            on: loop, threshold: 10, typeThreshold: typeThreshold, backtraceDepth: backtraceDepth,
            actions: [.call { [reports] in reports.add($0) }] + (drops ? [.dropCalls] : []), label: label)
    }

    /// What a detector has counted in the present pass.
    func counts(of detector: FeedbackLoopDetector) -> PassCounts? {
        loop.innermostPassingRun.flatMap { detector.runs.counts(of: $0) }
    }

    /// Makes one pass, in a run of its own, that calls `body`.
    func pass(in mode: Loop.Mode = .default, _ body: @escaping () -> Void) {
        nonisolated(unsafe) let body = body  // On this thread.
        loop.perform(in: mode) { body() }
        loop.run(mode: mode, for: .zero)
    }

    /// Calls `body` in each of several passes of one run that do not sleep in between.
    func passes(_ count: Int, _ body: @escaping () -> Void) {
        nonisolated(unsafe) let body = body  // On this thread.
        @Sendable func post(_ remaining: Int) {
            loop.perform {
                body()
                if remaining > 1 { post(remaining - 1) }
            }
        }
        post(count)
        loop.run(mode: .default, for: .seconds(1))
    }
}

/// An object whose calls are counted. Accessed by one thread at a time.
final class Panel: @unchecked Sendable {
    let name: String?
    var onLayout: () -> Void = {}
    var onTouch: @Sendable () -> Void = {}
    var onResize: (Int) -> Void = { _ in }
    var onMessage: @Sendable (String) -> Void = { _ in }
    var onMove: (Int, Int) -> Void = { _, _ in }
    var onScroll: @Sendable (Int, Int) -> Void = { _, _ in }
    var onDraw: (Int, Int, Int) -> Void = { _, _, _ in }
    var onZoom: @Sendable (Int, Int, Int) -> Void = { _, _, _ in }
    var height: (_ width: Int, _ scale: Int) -> Int = { $0 * $1 }

    init(_ name: String? = nil) { self.name = name }
}

/// An object with limited methods.
class Sheet: @unchecked Sendable {}

final class SubSheet: Sheet, @unchecked Sendable {}

extension FeedbackLoopDetector {
    /// Counts several calls. Returns how many may be made.
    @discardableResult
    func count(_ object: AnyObject, times: Int, _ name: String = "layout") -> Int {
        (0..<times).count { _ in count(object, name) }
    }
}

extension LimitedMethod {
    var isWatched: Bool { body.isWatched.load(ordering: .relaxed) }
}
