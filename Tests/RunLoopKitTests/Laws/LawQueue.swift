import LoopTestSupport

@testable import RunLoopKit

/// A paced queue on a loop in virtual time, and the laws of its actions: each in the order of the calls, once, and when
/// a quota of the same rate allows it, neither earlier nor later.
final class LawQueue: LawHandlerOwner, @unchecked Sendable {
    private static let (period, burst, capacity) = (Duration.microseconds(100), 2, 16)

    unowned let player: LawPlayer
    private unowned let loop: LawLoop
    /// Nil once it was released.
    private var queue: PacedQueue<Int>?
    private let quota: Quota

    /// Whether it acts on what waits when its loop ends.
    private let losesNothing: Bool
    private var hasHandler = false
    var handlersAlive = 0

    /// The script of each input that was accepted.
    private var scripts: [Int] = []
    private var handled = 0
    private var actionsInProgress = 0

    /// Without a handler, at times.
    init(on loop: LawLoop, _ player: LawPlayer) {
        (self.loop, self.player) = (loop, player)
        let actual = loop.loop!
        losesNothing = player.stepsLeft % 2 == 0
        quota = Quota(1, per: LawQueue.period, burst: LawQueue.burst, on: actual)
        queue = PacedQueue(
            1, per: LawQueue.period, burst: LawQueue.burst, capacity: LawQueue.capacity, on: actual,
            in: Set(LawProgram.modes.map { Loop.Mode($0) }), whenReleased: losesNothing ? .flush : .discard)
        if player.stepsLeft % 3 > 0 { setHandler() }
    }

    func setHandler() {
        guard let queue else { return }
        let handler = LawHandler(self)
        hasHandler = true
        let isSet = queue.setHandler { handler.owner.act(on: $0) }
        player.expect(isSet, "\(self) takes no handler")
    }

    // MARK: Calls

    /// Calls the queue with a script, which its action plays. At times the call also sets a handler.
    func call(_ script: Int) {
        guard let queue else { return }
        if player.stepsLeft % 5 == 0 { setHandler() }
        let (number, waitingCount) = (scripts.count, waitingCount)
        let isInAction = actionsInProgress > 0
        let actsAtOnce = hasHandler && waitingCount == 0 && !isInAction && quota.check().isAllowed
        // Before the call, in which the action may call again.
        scripts.append(script)
        let answer = queue(number)
        guard !loop.isEnding else {
            if answer != .accepted { scripts.removeLast() }
            return
        }
        if waitingCount == LawQueue.capacity {
            scripts.removeLast()
            return player.expect(answer == .full, "\(self) is full, and answers \(answer)")
        }
        player.expect(answer == .accepted, "\(self) answers \(answer)")
        if actsAtOnce { player.expect(handled > number, "\(self) does not act at once") }
        if isInAction { player.expect(handled <= number, "\(self) acts inside its own action") }
    }

    private func act(on number: Int) {
        player.enter(.action(of: self))
        actionsInProgress += 1
        player.expect(number == handled, "\(self): acts on \(number) after \(handled) others")
        if player.isGoingQuiet || loop.isEnding {
            quota.reserve(1)
        } else {
            player.expect(quota.take().isAllowed, "\(self) acts on \(number) early")
        }
        handled = number + 1
        if scripts.indices.contains(number) { player.play(script: scripts[number]) }
        actionsInProgress -= 1
        player.leave()
    }

    private var waitingCount: Int { scripts.count - handled }

    // MARK: Laws

    func checkItself() {
        guard !loop.isEnding, !player.isGoingQuiet, let queue else { return }
        player.expect(queue.waitingCount == waitingCount, "\(self): \(queue.waitingCount) wait, not \(waitingCount)")
    }

    /// Nothing is left to do.
    func goQuiet() {
        if !hasHandler { setHandler() }
        queue?.flush()
        player.expect(waitingCount == 0, "\(self): \(waitingCount) inputs are left after a flush")
    }

    /// The loop has ended.
    func checkTheEnd() {
        let isRefused = queue.map { $0(-1) == .closed } ?? true
        player.expect(isRefused, "\(self) accepts an input after the end of its loop")
        queue = nil
        if losesNothing, hasHandler { player.expect(waitingCount == 0, "\(self) has lost \(waitingCount) inputs") }
        // An action may have ended the loop.
        if actionsInProgress == 0 { checkHandlersAreReleased() }
    }
}

extension LawQueue {
    var description: String { "the paced queue of loop \(loop.number)" }
}
