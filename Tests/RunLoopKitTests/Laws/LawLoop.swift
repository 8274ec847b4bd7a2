@testable import RunLoopKit

/// A loop in a program, and the laws' model of it.
final class LawLoop: @unchecked Sendable {
    /// The number of a loop that a program makes is never reused.
    let number: Int
    private(set) var loop: Loop?
    private(set) weak var remains: Loop?
    let isReal: Bool

    /// Made when it is first called. A loop in real time has none.
    var queue: LawQueue?

    var commonModes = ["default"]
    var isEnding = false
    var hasEnded = false

    /// Observers that end each run after some passes: no run may continue for ever.
    private var guards: [Loop.Observer] = []
    private var passesLeft = 0

    init(number: Int, _ loop: Loop, isReal: Bool) {
        (self.number, self.loop, self.isReal) = (number, loop, isReal)
        remains = loop
        for mode in LawProgram.modes {
            let observer = Loop.Observer(.beforeTimers, order: .min) { [unowned self] _, _ in
                passesLeft -= 1
                if passesLeft <= 0 { self.loop?.stop() }
            }
            guards.append(observer)
            loop.add(observer, in: Loop.Mode(mode))
        }
    }

    func run(_ mode: String, for duration: Duration, returnAfterSourceHandled: Bool = false) -> Loop.RunResult {
        let outer = passesLeft
        passesLeft = 6
        defer { passesLeft = outer }
        return loop!.run(
            mode: Loop.Mode(mode), for: duration, returnAfterSourceHandled: returnAfterSourceHandled)
    }

    // MARK: Hosting

    private(set) var isHosted = false

    /// Begins hosting, and makes passes. Returns whether the host may sleep in the end.
    func host(_ mode: String) -> Bool {
        let outer = passesLeft
        passesLeft = 6
        defer { passesLeft = outer }
        isHosted = true
        let descriptor = try! loop!.hosting.begin(in: Loop.Mode(mode))
        while System.readiness(of: descriptor, for: .read).contains(.read) {
            if loop!.hosting.pass() == .stopped { return false }
        }
        return true
    }

    func endHosting() {
        loop!.hosting.end()
        isHosted = false
    }

    /// Whether a block waits that a run in this mode may run. All blocks of programs wake their loop.
    func hasBlock(for mode: Loop.Mode) -> Bool {
        guard let loop else { return false }
        return loop.lock.withLock { loop.existingState(for: mode).map(loop.hasBlock) ?? false }
    }

    /// Makes all current runs end.
    func endRuns() { passesLeft = 0 }

    func place(_ mode: String) -> LawProgram.Place { .init(loop: number, mode: mode) }

    func end() {
        if !isReal { loop!.end() }
        release()
    }

    /// For a thread's own loop: its thread has ended it.
    func release() {
        hasEnded = true
        queue?.checkTheEnd()
        guards = []
        loop = nil
    }
}
