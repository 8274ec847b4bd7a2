@testable import RunLoopKit

/// A posted block, or an end handler, and its fate.
final class LawBlock: @unchecked Sendable {
    /// The queues that it waits in; empty for an end handler.
    let modes: Set<String>
    let loop: LawLoop
    let script: Int
    /// Its place among the blocks of all loops.
    let number: Int
    /// Posted to run after a delay.
    var isDelayed = false
    /// It need not run: only a host, which sleeps without a limit, lets virtual time come so far.
    var isFar = false
    var isAccepted = false
    var isWithdrawn = false
    var ran = 0
    /// Nil for one that cannot be withdrawn.
    var withdrawal: (() -> Bool)?
    private var isReleased = false

    init(modes: Set<String>, loop: LawLoop, script: Int, number: Int) {
        (self.modes, self.loop, self.script, self.number) = (modes, loop, script, number)
    }

    var kind: LawProgram.Kind { isDelayed ? .delayedBlock : .block }
    var waits: Bool { isAccepted && !isWithdrawn && ran == 0 && !loop.isEnding }

    func withdraw(_ player: LawPlayer) {
        guard let withdrawal else { return }
        let waited = waits
        // Before the call, in which a deinit may call back.
        if waited { isWithdrawn = true }
        let answer = withdrawal()
        player.expect(answer == waited, "a block that waits: \(waited) is withdrawn: \(answer)")
        if waited { player.expect(isDelayed || !withdrawal(), "a block is withdrawn twice") }
    }

    /// Called as it begins to run.
    func begin(_ player: LawPlayer) {
        ran += 1
        player.expect(ran == 1 && isAccepted && !isWithdrawn, "a block runs that is not to run")
        // The blocks that an interrupted step has yet to run do not exist for a nested run.
        player.expect(
            isDelayed || number > loop.lastHidden, "a nested run takes a block of the step that it interrupts")
    }

    func checkTheEnd(_ player: LawPlayer) {
        withdrawal = nil  // It has the timer of a delayed block.
        player.expect(isReleased, "a block was not released")
        player.expect(ran + (isWithdrawn ? 1 : 0) <= (isAccepted ? 1 : 0), "a block had more than one fate")
    }

    /// An object that the block captures: its deinit shows the release.
    final class Closure: Sendable {
        let block: LawBlock
        private unowned let player: LawPlayer

        init(_ block: LawBlock, _ player: LawPlayer) { (self.block, self.player) = (block, player) }

        deinit {
            Lock.assertNoneHeld()
            block.isReleased = true
            player.playRelease(of: block)
        }
    }
}
