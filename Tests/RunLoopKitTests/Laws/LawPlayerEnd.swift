@testable import RunLoopKit

/// The end of a program: everything accepted is handled, and everything is released.
extension LawPlayer {
    /// Handles everything that was accepted, and checks that nothing happens after that.
    func goQuiet() {
        isGoingQuiet = true
        for item in items {
            (item.item as? Loop.FileDescriptorSource)?.interest = .read
            arm(item, true)
        }
        for loop in loops { loop.queue?.goQuiet() }
        // At first without the handlers that are not set yet: nothing happens for what waits for one.
        serveAll()
        for item in items where !item.hasHandler && item.isValid { during([item]) { item.setHandler() } }
        serveAll()
        checkLaws("when all is quiet")
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
            $0.places.contains(loop.place(mode)) && !$0.isQuiet && (!isServed || $0.isArmed && $0.callsInProgress == 0)
        }
        if let item { return "\(item)" }
        let isCommon = loop.commonModes.contains(mode)
        let block = blocks.first {
            $0.loop === loop && $0.waits && ($0.mode == mode || isCommon && $0.mode == "common")
        }
        return block.map { "a block for \($0.mode)" }
    }

    /// The run makes one wait, or none if virtual time has jumped, and one pass.
    private func checkThatAnIdleRunDoesNothing(_ loop: LawLoop, _ mode: String) {
        let actual = loop.loop!
        let next = actual.nextTimerFireTime(in: Loop.Mode(mode)).map { actual.now.duration(to: $0) }
        // A leftover of a nested or earlier run may cause one pass, and an old write to the eventfd one more wait.
        _ = loop.run(mode, for: .zero)
        _ = loop.run(mode, for: min(.microseconds(1), (next ?? .seconds(1)) / 2))
        let before = actual.counters
        let result = loop.run(mode, for: min(.milliseconds(1), (next ?? .seconds(1)) / 2))
        let after = actual.counters
        let passes = result == .finished && after.passes == before.passes ? 0 : 1
        expect(
            after.passes == before.passes + passes
                && after.waits + after.polls <= before.waits + before.polls + 1,
            "an idle run in \(mode) of \(loop.number) (\(result)): \(after), before \(before)")
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
        for loop in loops + endedLoops { loop.queue?.checkHandlersAreReleased() }
        for loop in loops + endedLoops { expect(loop.remains == nil, "loop \(loop.number) was not deallocated") }
    }
}
