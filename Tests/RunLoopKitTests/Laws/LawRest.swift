@testable import RunLoopKit

/// The laws of a loop with nothing to do.
extension LawPlayer {
    /// The run makes one wait, or none if virtual time has jumped, and one pass.
    func checkThatAnIdleRunDoesNothing(_ loop: LawLoop, _ mode: String) {
        let actual = loop.loop!
        let next = actual.nextTimerFireTime(in: Loop.Mode(mode)).map { actual.now.duration(to: $0) }
        // A leftover of a nested or earlier run may cause one pass, and an old write to the eventfd one more wait.
        _ = loop.run(mode, for: .zero)
        _ = loop.run(mode, for: min(.microseconds(1), (next ?? .seconds(1)) / 2))
        let before = actual.counters
        let (result, calls) = countingCalls { loop.run(mode, for: min(.milliseconds(1), (next ?? .seconds(1)) / 2)) }
        let after = actual.counters
        let passes = result == .finished && after.passes == before.passes ? 0 : 1
        expect(
            after.passes == before.passes + passes
                && after.waits + after.polls <= before.waits + before.polls + 1,
            "an idle run in \(mode) of \(loop.number) (\(result)): \(after), before \(before)")
        expect(
            calls.areOfOneWait(isVirtual: !loop.isReal),
            "an idle run in \(mode) of \(loop.number) makes the calls \(calls)")
    }

    #if DEBUG
        private func countingCalls<Result>(_ body: () -> Result) -> (Result, LawCalls) {
            let counts = Faults(nil)
            let result = counts.whileArmed(body)
            return (result, LawCalls(counts: counts.callCounts))
        }
    #else
        private func countingCalls<Result>(_ body: () -> Result) -> (Result, LawCalls) { (body(), LawCalls()) }
    #endif

    /// What a loop keeps is what it has.
    func checkThatNothingIsLeft(in loop: LawLoop) {
        guard let actual = loop.loop else { return }
        let blocks = blocks.filter { $0.loop === loop && $0.waits }
        let timersOfOthers = blocks.count { $0.isDelayed } + loop.limiters.count + (loop.queue == nil ? 0 : 1)
        let queued = actual.waitingBlocks
        expect(queued == blocks.count { !$0.isDelayed }, "\(queued) blocks are left in loop \(loop.number)")
        expect(actual.own.hiddenBlocks == 0, "blocks of loop \(loop.number) are hidden outside its runs")
        let handlers = endHandlers.count { $0.loop === loop && $0.waits }
        let kept = actual.lock.withLock { actual.endHandlers.count }
        expect(kept == handlers, "\(kept) end handlers are left in loop \(loop.number), not \(handlers)")
        for state in actual.lock.withLock({ actual.modesWithItems }) {
            let (found, ready) = actual.lock.withLock { (state.items, state.ready.count) }
            let expected = items.filter { $0.item != nil && $0.places.contains(loop.place(state.mode.name)) }
            let limits = expected.compactMap { ($0.item as? Loop.Connection)?.ending?.idleTimer }
            let missing = (expected.map { $0.item! } + limits).filter { item in !found.contains { $0 === item } }
            let name = "\(state.mode) of \(loop.number)"
            expect(missing.isEmpty, "\(name) lacks \(missing)")
            let count = expected.count + limits.count
            expect(found.count <= count + 1 + timersOfOthers, "\(name) has items too many: \(found)")
            // What has left is still listed, until a pass looks at it.
            expect(ready <= items.count + 4, "\(name) lists \(ready) as ready")
            expect(state.signals.room <= items.count + 1, "\(name) has room for \(state.signals.room) signals")
            expect(state.messages.room <= items.count + 1, "\(name) has room for \(state.messages.room) messages")
        }
    }
}

/// The system calls of a run.
struct LawCalls: CustomStringConvertible {
    #if DEBUG
        var counts: [Faults.Call: Int] = [:]

        /// One wait, for which each clock's timer may be set. In virtual time the clock looks before it jumps.
        func areOfOneWait(isVirtual: Bool) -> Bool {
            let others = counts.filter { ![.epollWait, .poll, .timerSet, .timerSetOnWallClock].contains($0.key) }
            let (waits, looks) = (counts[.epollWait] ?? 0, counts[.poll] ?? 0)
            return others.isEmpty && waits <= 1 && looks <= (isVirtual ? 1 : 0) && (counts[.timerSet] ?? 0) <= 2
                && (counts[.timerSetOnWallClock] ?? 0) <= 1
        }

        var description: String { "\(counts)" }
    #else
        func areOfOneWait(isVirtual: Bool) -> Bool { true }
        let description = ""
    #endif
}
