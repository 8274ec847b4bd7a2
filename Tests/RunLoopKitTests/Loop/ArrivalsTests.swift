import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct ArrivalsTests {
    /// Items come to several lists and leave them. Seldom more than one is in a list, or nearly always several: the
    /// first one has a place of its own.
    @Test("The lists behave like sets", arguments: 1...programCount(40))
    func sets(seed: UInt64) {
        var random = SplitMix(seed)
        let lists = (0..<3).map { _ in Arrivals<Loop.Item>() }
        var models = lists.map { _ in Set<Int>() }
        let items = (0..<6).map { _ in Loop.Source0 {} }
        var places = items.map { _ in ArrivalPlaces() }
        let insertions = seed % 2 == 0 ? 3 : 8
        for step in 0..<3_000 {
            let (list, item) = (Int(random.next() % 3), Int(random.next() % 6))
            var isRight = true
            switch Int(random.next() % 12) {
            case 0..<insertions:
                let isNew = items[item].itemLock.withLock { lists[list].insert(items[item], &places[item]) }
                isRight = isNew == models[list].insert(item).inserted
            case 8...9:
                items[item].itemLock.withLock { lists[list].remove(items[item], &places[item]) }
                models[list].remove(item)
            case 10:
                // It may leave the only one to `takeAll(into:)`.
                if let only = lists[list].takeOnly() {
                    isRight = models[list].count == 1 && items[models[list].removeFirst()] === only
                }
            default:
                var all: [Loop.Item?] = []
                lists[list].takeAll(into: &all)
                let taken = all.compactMap { $0 }.map { taken in items.firstIndex { $0 === taken }! }
                isRight = taken.count == models[list].count && Set(taken) == models[list]
                models[list] = []
            }
            // Recorded only on failure: an expectation costs much more than the step it checks.
            if !isRight { Issue.record("list \(list), item \(item), step \(step)") }
            for (list, model) in zip(lists, models) where list.isEmpty && !model.isEmpty {
                Issue.record("\(model) are unseen after step \(step)")
            }
            for (list, model) in zip(lists, models) {
                let found = items.indices.filter { index in list.contains { $0 === items[index] } }
                if Set(found) != model { Issue.record("\(found), not \(model), after step \(step)") }
            }
        }
    }

    @Test("An item that comes alone again and again is taken without the others' places")
    func alone() {
        let list = Arrivals<Loop.Item>()
        let item = Loop.Source0 {}
        var places = ArrivalPlaces()
        for _ in 0..<100 {
            #expect(item.itemLock.withLock { list.insert(item, &places) && !list.insert(item, &places) })
            #expect(list.takeOnly() === item && list.isEmpty && list.room == 1)
        }
    }
}
