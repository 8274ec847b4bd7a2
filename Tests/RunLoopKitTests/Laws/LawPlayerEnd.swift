@testable import RunLoopKit

/// The end of a program: everything accepted is handled, and everything is released.
extension LawPlayer {
    /// Handles everything that was accepted, and checks that nothing happens after that.
    func goQuiet() {
        isGoingQuiet = true
        for item in items {
            (item.item as? Loop.FileDescriptorSource)?.interest = .read
            arm(item, true)
            item.beTimely()
        }
        for loop in loops {
            loop.queue?.goQuiet()
            loop.quota?.goQuiet()
            for kind in LawProgram.Kind.limiters { loop.limiters[kind]?.goQuiet() }
        }
        // At first without the handlers that are not set yet: nothing happens for what waits for one.
        serveAll()
        for item in items where !item.hasHandler && item.isValid { during([item]) { item.setHandler() } }
        serveAll()
        checkLaws("when all is quiet")
        for loop in loops where violation == nil { checkThatNothingIsLeft(in: loop) }
    }

    private func serveAll() {
        for loop in loops {
            for mode in LawProgram.modes {
                runs.append(loop)
                var passes = 0
                while passes < 300, violation == nil, let rest = unfinished(loop, mode) {
                    // A one-shot item needs it for each report.
                    for item in items where !item.isQuiet && !item.isArmed { arm(item, true) }
                    _ = loop.run(mode, for: .zero)
                    passes += 1
                    expect(passes < 300, "\(rest) is never served in \(mode) of \(loop.number)")
                }
                checkLaws("when quiet")
                if violation == nil { checkThatAnIdleRunDoesNothing(loop, mode) }
                runs.removeLast()
            }
        }
    }

    /// Something that waits in the mode.
    ///
    /// - Parameter isServed: Only what a pass could serve at once.
    func unfinished(_ loop: LawLoop, _ mode: String, isServed: Bool = false) -> String? {
        let item = items.first {
            $0.places.contains(loop.place(mode)) && !$0.isQuiet && (!isServed || $0.canBeServed)
        }
        if let item { return "\(item)" }
        let isCommon = loop.commonModes.contains(mode)
        let block = blocks.first {
            $0.loop === loop && $0.waits && !$0.isFar
                && ($0.modes.contains(mode) || isCommon && $0.modes.contains("common"))
        }
        return block.map { "a block for \($0.modes)" }
    }

    /// After the end of the thread, and of its loop.
    func checkTheEnd() {
        for loop in loops where loop.isReal {
            for item in items where item.loops.contains(loop.number) {
                item.places = []
                item.commons = []
            }
            loop.release()
        }
        for item in items { item.checkItself() }
        for item in items { item.drop() }
        for item in items {
            item.endChild()
            guard violation == nil else { continue }
            expect(item.item == nil, "\(item): not deallocated")
            expect(item.closuresAlive == 0, "\(item): \(item.closuresAlive) handlers not released at the end")
            item.checkDescriptorsAreClosed()
        }
        expect(messagesAlive == 0, "\(messagesAlive) messages not released")
        for block in blocks + endHandlers { block.checkTheEnd(self) }
        for block in endHandlers where block.isAccepted && !block.isWithdrawn {
            expect(block.ran == 1, "an end handler was called \(block.ran) times")
        }
        for loop in loops + endedLoops { loop.checkHandlersAreReleased() }
        for loop in loops + endedLoops { expect(loop.remains == nil, "loop \(loop.number) was not deallocated") }
    }
}
