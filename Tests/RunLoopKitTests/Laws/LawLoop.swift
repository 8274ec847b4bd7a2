import LoopTestSupport

@testable import RunLoopKit

/// A loop in a program, and the laws' model of it.
final class LawLoop: @unchecked Sendable {
    /// The number of a loop that a program makes is never reused.
    let number: Int
    private(set) var loop: Loop?
    private(set) weak var remains: Loop?
    let isReal: Bool
    private unowned let player: LawPlayer

    /// Made when they are first called. A loop in real time has none.
    var queue: LawQueue?
    var limiters: [LawProgram.Kind: LawLimiter] = [:]
    var quota: LawQuota?

    var commonModes = ["default"]
    var isEnding = false
    var hasEnded = false

    /// What the laws know of the innermost run.
    struct RunState {
        /// Observers end each run after some passes: no run may continue for ever.
        var passesLeft = 0
        var isStopped = false
        var isHosted = false
        /// The last block that was posted before the pass.
        var lastBlock = 0
        var order = LawOrder()
        var sleep: LawSleep?
    }
    var state = RunState()

    /// The last block that a nested run may not take: those of the steps that it interrupts.
    private(set) var lastHidden = 0
    private var guards: [Loop.Observer] = []

    init(number: Int, _ loop: Loop, isReal: Bool, _ player: LawPlayer) {
        (self.number, self.loop, self.isReal, self.player) = (number, loop, isReal, player)
        remains = loop
        for mode in LawProgram.modes {
            let observer = Loop.Observer(.all, order: .min) { [unowned self] _, activity in reached(activity) }
            guards.append(observer)
            loop.add(observer, in: Loop.Mode(mode))
        }
    }

    private func reached(_ activity: Loop.Activity) {
        state.order.begin(after: player.joins)
        if !isReal, !state.isHosted { follow(activity) }
        guard activity == .beforeTimers else { return }
        player.expect(state.isHosted || !state.isStopped, "a run of loop \(number) goes on after a stop")
        state.lastBlock = player.lastBlock
        state.passesLeft -= 1
        if state.passesLeft <= 0 { stop() }
    }

    /// The sleeps of runs.
    private func follow(_ activity: Loop.Activity) {
        guard let mode = loop?.currentMode else { return }
        var sleep = state.sleep
        switch activity {
        case .beforeWaiting: sleep = LawSleep(of: self, in: mode, player)
        case .afterWaiting: sleep?.end(at: loop!.now, player)
        default:
            sleep?.checkThatAllWereCalled(player)
            sleep = nil
        }
        state.sleep = sleep
    }

    // MARK: Running

    /// Stops the innermost run, if there is one.
    func stop() {
        if loop?.currentMode != nil { state.isStopped = true }
        loop?.stop()
    }

    /// Makes all current runs end.
    func endRuns() { state.passesLeft = 0 }

    func run(_ mode: String, for duration: Duration, returnAfterSourceHandled: Bool = false) -> Loop.RunResult {
        inRun {
            loop!.run(mode: Loop.Mode(mode), for: duration, returnAfterSourceHandled: returnAfterSourceHandled)
        }
    }

    private func inRun<Result>(isHosted: Bool = false, _ body: () -> Result) -> Result {
        let outer = state
        state = RunState(passesLeft: 6, isHosted: isHosted)
        defer { state = outer }
        return body()
    }

    /// While a block runs, nested runs take only what was posted after its step began.
    func hidingBlocks(_ body: () -> Void) {
        let outer = lastHidden
        lastHidden = max(lastHidden, state.lastBlock)
        body()
        lastHidden = outer
    }

    /// Whether a block waits that a run in this mode may run. All blocks of programs wake their loop.
    func hasBlock(for mode: Loop.Mode) -> Bool {
        guard let loop else { return false }
        return loop.lock.withLock { loop.existingState(for: mode).map(loop.hasBlock) ?? false }
    }

    // MARK: Hosting

    /// Whether a host's pass is the innermost run, or one around it.
    private(set) var isHosted = false

    /// A host makes passes until it may sleep; then `whenItRests` is called, unless a stop came first.
    ///
    /// - Parameter asks: Whether the host says when it sleeps.
    func host(_ mode: String, asks: Bool, whenItRests: () -> Void) {
        inRun(isHosted: true) {
            isHosted = true
            let descriptor = try! loop!.hosting.begin(in: Loop.Mode(mode))
            if makeHostedPasses(descriptor, asks) { whenItRests() }
            loop!.hosting.end()
            isHosted = false
        }
    }

    /// Returns false after a stop.
    private func makeHostedPasses(_ descriptor: Int32, _ asks: Bool) -> Bool {
        let hosting = loop!.hosting
        while true {
            if asks, hosting.willSleep() {
                let isReady = System.readiness(of: descriptor, for: .read).contains(.read)
                hosting.didWake()
                if !isReady { return true }
            } else if !asks, !System.readiness(of: descriptor, for: .read).contains(.read) {
                return true
            }
            if hosting.pass() == .stopped { return false }
        }
    }

    func place(_ mode: String) -> LawProgram.Place { .init(loop: number, mode: mode) }

    // MARK: The end

    func end() {
        if !isReal { loop!.end() }
        release()
    }

    /// For a thread's own loop: its thread has ended it.
    func release() {
        hasEnded = true
        queue?.checkTheEnd()
        for limiter in limiters.values { limiter.checkTheEnd() }
        quota?.checkTheEnd()
        guards = []
        loop = nil
    }

    func checkHandlersAreReleased() {
        queue?.checkHandlersAreReleased()
        for limiter in limiters.values { limiter.checkHandlersAreReleased() }
        quota?.checkTheEnd()
    }
}
