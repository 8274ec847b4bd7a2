@testable import RunLoopKit

/// Posted blocks, and those that run at a loop's end.
extension LawPlayer {
    /// A block that can be withdrawn or, at times, one that may run in several modes and cannot be.
    func post(_ loop: LawLoop, _ mode: String, _ script: Int) {
        let isForSeveral = stepsLeft % 5 == 1
        let block = makeBlock(isForSeveral ? [mode, "b"] : [mode], loop, script)
        let body = makeBody(block)
        blocks.append(block)
        if isForSeveral {
            block.isAccepted = loop.loop?.perform(in: Set(block.modes.map { Loop.Mode($0) }), body) ?? false
        } else {
            let handle = loop.loop?.performCancellable(in: Loop.Mode(mode), body)
            block.isAccepted = handle != nil
            if let handle { block.withdrawal = { handle.withdraw() } }
        }
        expect(block.isAccepted == !loop.isEnding, "a block is accepted: \(block.isAccepted)")
    }

    /// A block that runs after a delay: at once, or never.
    func postLater(_ loop: LawLoop, _ mode: String, _ script: Int, isFar: Bool) {
        let block = makeBlock([mode], loop, script)
        (block.isDelayed, block.isFar) = (true, isFar)
        blocks.append(block)
        let timer = loop.loop?.perform(after: isFar ? farAway : .zero, in: Loop.Mode(mode), makeBody(block))
        block.isAccepted = timer != nil
        if let timer {
            block.withdrawal = { [unowned block] in
                defer { timer.invalidate() }
                return timer.isValid && block.ran == 0
            }
        }
        expect(block.isAccepted == !loop.isEnding, "a delayed block is accepted: \(block.isAccepted)")
    }

    private func makeBlock(_ modes: Set<String>, _ loop: LawLoop, _ script: Int) -> LawBlock {
        lastBlock += 1
        return LawBlock(modes: modes, loop: loop, script: script, number: lastBlock)
    }

    private func makeBody(_ block: LawBlock) -> @Sendable () -> Void {
        let closure = LawBlock.Closure(block, self)
        return { [unowned self] in
            let block = closure.block
            block.begin(self)
            enter(.block(block))
            if block.isDelayed {
                play(script: block.script)
            } else {
                block.loop.hidingBlocks { play(script: block.script) }
            }
            leave()
        }
    }

    /// What a block has captured is deallocated.
    func playRelease(of block: LawBlock) {
        guard let script = program.releaseScripts[block.script] else { return }
        enter(.release(of: block))
        play(script: script)
        leave()
    }

    /// - Parameter script: That of the block; nil for the oldest one that waits.
    func withdraw(_ script: Int?) {
        let block = blocks.first {
            $0.withdrawal != nil && (script == nil ? $0.waits : $0.script == script)
        }
        guard let block else { return }
        coverage.count(.withdraw, block.kind, [block.waits ? .waiting : .notWaiting], contexts(for: block))
        block.withdraw(self)
    }

    func onEnd(_ loop: LawLoop, _ script: Int, _ isCancelled: Bool) {
        let block = makeBlock([], loop, script)
        let closure = LawBlock.Closure(block, self)
        let handler = loop.loop?.onEnd { [unowned self] in
            closure.block.ran += 1
            enter(.endHandler)
            play(script: script)
            leave()
        }
        block.isAccepted = handler != nil
        expect(block.isAccepted == !loop.isEnding, "an end handler is accepted: \(block.isAccepted)")
        if isCancelled, let handler {
            handler.cancel()
            block.isWithdrawn = true
        }
        endHandlers.append(block)
    }
}
