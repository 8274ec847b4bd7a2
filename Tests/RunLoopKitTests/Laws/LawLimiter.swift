import LoopTestSupport
import TestSupport

@testable import RunLoopKit

/// A debounce or a throttle on a loop in virtual time, with one key or two, and the laws of its actions.
///
/// Each action has the last call before it, and no call has two. A flush leaves no call without an action, and a cancel
/// none that acts later. No action comes before its time, unless a flush asks for it.
final class LawLimiter: LawHandlerOwner, @unchecked Sendable {
    static let interval = Duration.microseconds(100)

    unowned let player: LawPlayer
    private unowned let loop: LawLoop
    let kind: LawProgram.Kind

    /// Nil once it was released.
    private var single: Limiter<Int>?
    private var keyed: KeyedLimiter<Int, Int>?

    /// The script of each call.
    private var scripts: [Int] = []
    private var bursts: [Burst]
    private let losesNothing: Bool
    private var actionsInProgress = 0
    var handlersAlive = 0

    /// The calls for one key, by their numbers.
    private struct Burst {
        var last = -1
        var acted = -1
        var cancelled = -1
        /// Those up to this one may be in line: another thread has called or flushed.
        var handedOver = -1
        var lastCall: Loop.Instant?
        var lastAction: Loop.Instant?
        var flushes = 0

        var decided: Int { max(acted, cancelled) }
    }

    init(_ kind: LawProgram.Kind, on loop: LawLoop, _ player: LawPlayer) {
        (self.kind, self.loop, self.player) = (kind, loop, player)
        losesNothing = player.stepsLeft % 2 == 0
        bursts = Array(repeating: Burst(), count: kind.isKeyed ? 2 : 1)
        let handler = LawHandler(self)
        let (loop, interval) = (loop.loop!, LawLimiter.interval)
        let modes = Set(LawProgram.modes.map { Loop.Mode($0) })
        let release: RateLimitRelease = losesNothing ? .flush : .discard
        let edges: RateLimitEdges = [.leading, .trailing]
        switch kind {
        case .debounce:
            single = Debounce(interval: interval, on: loop, in: modes, whenReleased: release) {
                handler.owner.act(on: $0, for: 0)
            }
        case .throttle:
            single = Throttle(interval: interval, edges: edges, on: loop, in: modes, whenReleased: release) {
                handler.owner.act(on: $0, for: 0)
            }
        case .keyedDebounce:
            keyed = KeyedDebounce(interval: interval, on: loop, in: modes, whenReleased: release) {
                handler.owner.act(on: $1, for: $0)
            }
        default:
            keyed = KeyedThrottle(interval: interval, edges: edges, on: loop, in: modes, whenReleased: release) {
                handler.owner.act(on: $1, for: $0)
            }
        }
    }

    // MARK: Calls

    /// Each script has a key of its own.
    func operate(_ operation: LawProgram.Operation, _ script: Int) {
        let key = script % bursts.count
        switch operation {
        case .call: call(script, for: key)
        case .flush: flush(key)
        default: cancel(key)
        }
    }

    func isPending(_ script: Int) -> Bool {
        single?.isPending ?? keyed?.isPending(script % bursts.count) ?? false
    }

    /// Whether a call is.
    var isPending: Bool { bursts.indices.contains { isPending($0) } }

    private func call(_ script: Int, for key: Int) {
        let number = scripts.count
        // Before the call, in which the action may call again.
        scripts.append(script)
        bursts[key].last = number
        bursts[key].lastCall = loop.loop?.now
        if player.isElsewhere { bursts[key].handedOver = number }
        let isAccepted = single.map { $0(number) } ?? keyed?(number, for: key)
        player.expect(isAccepted ?? false || loop.isEnding, "\(self) refuses a call")
    }

    private func flush(_ key: Int) {
        let last = bursts[key].last
        if player.isElsewhere { bursts[key].handedOver = last } else { bursts[key].flushes += 1 }
        _ = single?.flush() ?? keyed?.flush(key)
        guard !player.isElsewhere else { return }
        bursts[key].flushes -= 1
        player.expect(bursts[key].decided >= last, "\(self): call \(last) has not acted after a flush")
    }

    private func cancel(_ key: Int) {
        bursts[key].cancelled = bursts[key].last
        bursts[key].lastAction = nil
        single?.cancel()
        keyed?.cancel(key)
        let isPending = single?.isPending ?? keyed?.isPending(key) ?? false
        player.expect(!isPending, "\(self): a call is pending after a cancel")
    }

    private func act(on number: Int, for key: Int) {
        player.enter(.action(of: self))
        actionsInProgress += 1
        let burst = bursts[key]
        let isInLine = number <= burst.handedOver
        player.expect(number > burst.acted && number <= burst.last, "\(self): acts on \(number) after \(burst.acted)")
        player.expect(number > burst.cancelled || isInLine, "\(self): acts on \(number), which was cancelled")
        if !isInLine, burst.flushes == 0, !loop.isEnding { checkTheTime(of: burst) }
        bursts[key].acted = number
        bursts[key].lastAction = isInLine ? nil : loop.loop?.now
        player.play(script: scripts[number])
        actionsInProgress -= 1
        player.leave()
    }

    private func checkTheTime(of burst: Burst) {
        guard let now = loop.loop?.now, let start = kind.isDebounce ? burst.lastCall : burst.lastAction else { return }
        player.expect(start.duration(to: now) >= LawLimiter.interval, "\(self): acts early")
    }

    // MARK: Laws

    /// Nothing is left to do.
    func goQuiet() { for key in bursts.indices { flush(key) } }

    /// The loop has ended.
    func checkTheEnd() {
        let isAccepted = single.map { $0(-1) } ?? keyed?(-1, for: 0)
        player.expect(isAccepted == false, "\(self) accepts a call after the end of its loop")
        (single, keyed) = (nil, nil)
        if losesNothing {
            let isLost = bursts.contains { $0.decided < $0.last && $0.handedOver < $0.last }
            player.expect(!isLost, "\(self) has lost a call at the end of its loop")
        }
        // An action may have ended the loop.
        if actionsInProgress == 0 { checkHandlersAreReleased() }
    }
}

extension LawLimiter {
    var description: String { "the \(kind) of loop \(loop.number)" }
}
