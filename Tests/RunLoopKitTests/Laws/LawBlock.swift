@testable import RunLoopKit

/// A posted block, or an end handler, and its fate.
final class LawBlock: @unchecked Sendable {
    let mode: String
    let loop: LawLoop
    var isAccepted = false
    var isWithdrawn = false
    var ran = 0
    var handle: Loop.PendingBlock?
    private var isReleased = false

    init(mode: String, loop: LawLoop) { (self.mode, self.loop) = (mode, loop) }

    var waits: Bool { isAccepted && !isWithdrawn && ran == 0 && !loop.isEnding }

    func withdraw(_ player: LawPlayer) {
        isWithdrawn = handle?.withdraw() ?? false
        player.expect(isWithdrawn, "a block that waits cannot be withdrawn")
    }

    func checkTheEnd(_ player: LawPlayer) {
        player.expect(isReleased, "a block was not released")
        player.expect(ran + (isWithdrawn ? 1 : 0) <= (isAccepted ? 1 : 0), "a block had more than one fate")
    }

    /// An object that the block captures: its deinit shows the release.
    final class Closure: Sendable {
        let block: LawBlock
        init(_ block: LawBlock) { self.block = block }
        deinit {
            Lock.assertNoneHeld()
            block.isReleased = true
        }
    }
}
