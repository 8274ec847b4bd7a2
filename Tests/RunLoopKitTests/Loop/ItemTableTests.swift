import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct ItemTableTests {
    /// Half of the items are of a kind that remembers its place, the others are of a kind that many loops may have.
    /// Programs fill the table and empty it in turn, so that it closes its gaps.
    @Test("The table behaves like a list", arguments: 1...programCount(20))
    func list(seed: UInt64) {
        var random = SplitMix(seed)
        var table = ItemTable<Loop.Item>()
        var model: [(item: Loop.Item, turn: UInt64)] = []
        let items = (0..<120).map { number -> Loop.Item in
            number % 2 == 0 ? Loop.Timer(after: .zero) { _ in } : Loop.Source0 {}
        }
        for step in 0..<2_000 {
            let item = items[Int(random.next() % 120)]
            let isEmptying = step % 500 > 300
            if let index = model.firstIndex(where: { $0.item === item }) {
                if isEmptying || random.next() % 3 == 0 {
                    table.remove(item)
                    model.remove(at: index)
                }
            } else if !isEmptying {
                table.insert(item, turn: UInt64(step))
                model.append((item, UInt64(step)))
            }
            // Recorded only on failure: an expectation costs much more than the step it checks.
            if table.isEmpty != model.isEmpty { Issue.record("empty") }
            if !table.all.elementsEqual(model.map(\.item), by: ===) { Issue.record("all after step \(step)") }
            let turn = random.next() % UInt64(step + 1)
            let later = model.filter { $0.turn > turn }
            if !table.elements(after: turn).elementsEqual(later, by: { $0.element === $1.item && $0.turn == $1.turn }) {
                Issue.record("later than \(turn) after step \(step)")
            }
        }
    }

    @Test("An item is in common of one loop, then of another, beside items that several loops have")
    func inLoopsInTurn() throws {
        let loops = (0..<2).map { _ in Loop(clock: VirtualClock()) }
        let shared = (0..<10).map { _ in Loop.Source0 {} }
        let timers = (0..<10).map { _ in Loop.Timer(after: .seconds(1)) { _ in } }
        for loop in loops { for source in shared { #expect(loop.add(source, in: .common)) } }
        for round in 0..<4 {
            let (here, there) = (loops[round % 2], loops[1 - round % 2])
            for timer in timers {
                #expect(here.add(timer, in: .common))
                #expect(here.contains(timer, in: .common) && !there.contains(timer, in: .common))
            }
            for timer in timers.shuffled() { here.remove(timer, in: .common) }
            for timer in timers { #expect(!here.contains(timer, in: .common) && !here.contains(timer)) }
        }
        for item in shared + timers { item.invalidate() }
        for loop in loops {
            #expect(shared.allSatisfy { !loop.contains($0, in: .common) && !loop.contains($0) })
            loop.end()
        }
    }
}
