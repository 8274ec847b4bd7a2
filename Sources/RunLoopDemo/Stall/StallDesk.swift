import RunLoopDiagnostics
import RunLoopKit

/// Receives the reports of a scene, releases its handlers when all of them have been reported, and ends the wait of the
/// stage when all have ended.
final class StallDesk: Sendable {
    private struct State {
        var scene: (any StallScene)?
        /// By the names of the loops. On a busy machine, a loop may have another stall: the first one counts.
        var stalled: [String: StallReport] = [:]
        var ended: [String: StallReport] = [:]
    }

    private let stage: Stage
    private let state = Guarded(State())

    init(stage: Stage) { self.stage = stage }

    /// Expects one stall of each loop of the scene.
    func expect(_ scene: any StallScene) { state.change { $0 = State(scene: scene) } }

    /// From any thread.
    func take(_ report: StallReport) {
        let (toRelease, isOver) = state.change { state -> ((any StallScene)?, Bool) in
            guard let scene = state.scene, scene.threads.contains(where: { $0.name == report.loop }) else {
                return (nil, false)
            }
            let (count, first) = (scene.threads.count, state.stalled[report.loop])
            guard report.stage == .ended else {
                if first == nil { state.stalled[report.loop] = report }
                return (first == nil && state.stalled.count == count ? scene : nil, false)
            }
            guard first?.number == report.number else { return (nil, false) }
            state.ended[report.loop] = report
            return (nil, state.ended.count == count)
        }
        toRelease?.release()
        if isOver { stage.proceed() }
    }

    /// Whether every loop's stall has ended.
    var isOver: Bool { state.change { $0.ended.count == $0.scene?.threads.count } }

    /// In the order of the loops' names: two stalls may be reported in either order.
    var reports: [StallReport] {
        state.change { state in
            [state.stalled, state.ended].flatMap { $0.values.sorted { $0.loop < $1.loop } }
        }
    }
}

/// A value that is accessed with a lock held.
private final class Guarded<Value>: @unchecked Sendable {
    private let lock = Lock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func change<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&value) } }
}
