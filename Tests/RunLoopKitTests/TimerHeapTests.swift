import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct TimerHeapTests {
    /// The specification of the heap: a list that each operation searches and sorts.
    private struct Model {
        var entries: [(deadline: Int64, latest: Int64, turn: Int, timer: Loop.Timer)] = []
        var lastTurn = 0

        mutating func put(_ timer: Loop.Timer, _ deadline: Int64, _ latest: Int64) {
            entries.removeAll { $0.timer === timer }
            lastTurn += 1
            entries.append((deadline, latest, lastTurn, timer))
        }

        func due(_ now: Int64) -> [Loop.Timer] {
            entries.filter { $0.deadline <= now }.sorted { ($0.deadline, $0.turn) < ($1.deadline, $1.turn) }.map(
                \.timer)
        }

        /// CF's rule, as the reference describes it.
        var wakeUpTime: Int64? {
            var hard = Int64.max
            for entry in entries.sorted(by: { $0.deadline < $1.deadline }) {
                if entry.deadline > hard { break }
                hard = min(hard, entry.latest)
            }
            return hard == .max ? nil : hard
        }
    }

    @Test("The heap behaves like a sorted list", arguments: 1...20 as ClosedRange<UInt64>)
    func sortedList(seed: UInt64) {
        var random = SplitMix(seed)
        var heap = TimerHeap()
        let owner = Owner()
        heap.owner = ObjectIdentifier(owner)
        var model = Model()
        let timers = (0..<30).map { _ in Loop.Timer(after: .zero) { _ in } }
        let hasTolerance = seed % 2 == 0
        for _ in 0..<600 {
            let timer = timers[Int(random.next() % 30)]
            let deadline = Int64(random.next() % 50)
            let latest = deadline + (hasTolerance ? Int64(random.next() % 20) : 0)
            let isIn = model.entries.contains { $0.timer === timer }
            switch (random.next() % 4, isIn) {
            case (0, true):
                heap.remove(timer)
                model.entries.removeAll { $0.timer === timer }
            case (1, true):
                heap.update(timer, deadline: TimerHeap.never, latest: TimerHeap.never)
                model.put(timer, TimerHeap.never, TimerHeap.never)
            case (_, true):
                heap.update(timer, deadline: deadline, latest: latest)
                model.put(timer, deadline, latest)
            case (_, false):
                heap.insert(timer, deadline: deadline, latest: latest)
                model.put(timer, deadline, latest)
            }
            let now = Int64(random.next() % 60)
            var due: [Loop.Timer] = []
            heap.collectDue(at: now, into: &due)
            // Recorded only on failure: an expectation costs much more than the step it checks.
            if !due.elementsEqual(model.due(now), by: ===) { Issue.record("due at \(now)") }
            if heap.wakeUpTime != model.wakeUpTime { Issue.record("wake-up time") }
            if heap.all.count != model.entries.count { Issue.record("count") }
        }
        heap.removeAll()
        #expect(heap.isEmpty)
        #expect(timers.allSatisfy { $0[.byDeadline, in: heap.owner!] == nil })
        #expect(timers.allSatisfy { $0[.byLatest, in: heap.owner!] == nil })
    }

    @Test("The second order begins with the first tolerance and ends with the last timer")
    func firstTolerance() {
        var heap = TimerHeap()
        let owner = Owner()
        heap.owner = ObjectIdentifier(owner)
        let timers = (0..<5).map { _ in Loop.Timer(after: .zero) { _ in } }
        func isInSecondOrder(_ timer: Loop.Timer) -> Bool { timer[.byLatest, in: heap.owner!] != nil }
        for (index, timer) in timers.enumerated() { heap.insert(timer, deadline: Int64(index), latest: Int64(index)) }
        #expect(!timers.contains(where: isInSecondOrder))
        heap.update(timers[0], deadline: 0, latest: 3)
        #expect(timers.allSatisfy(isInSecondOrder))
        #expect(heap.wakeUpTime == 1)
        for timer in timers { heap.remove(timer) }
        heap.insert(timers[0], deadline: 5, latest: 5)
        #expect(!isInSecondOrder(timers[0]))
        #expect(heap.wakeUpTime == 5)
    }

    @Test("A timer keeps its places in many heaps apart")
    func timerInManyHeaps() {
        let owners = (0..<4).map { _ in Owner() }
        let heaps = owners.map { ObjectIdentifier($0) }
        let places = Member()
        for (index, heap) in heaps.enumerated() {
            places[.byDeadline, in: heap] = index * 10
            places[.byLatest, in: heap] = index
        }
        #expect(heaps.map { places[.byDeadline, in: $0] } == [0, 10, 20, 30])
        #expect(heaps.map { places[.byLatest, in: $0] } == [0, 1, 2, 3])
        places[.byLatest, in: heaps[0]] = nil
        places[.byDeadline, in: heaps[0]] = nil
        places[.byDeadline, in: heaps[2]] = 7
        #expect(heaps.map { places[.byDeadline, in: $0] } == [nil, 10, 7, 30])
        places[.byDeadline, in: heaps[0]] = 1
        places[.byDeadline, in: heaps[3]] = nil
        #expect(heaps.map { places[.byDeadline, in: $0] } == [1, 10, 7, nil])
        #expect(heaps.map { places[.byLatest, in: $0] } == [nil, 1, 2, nil])
    }

    private final class Owner {}

    private final class Member: HeapMember {
        var places = HeapPlaces()
        var otherPlaces: [ObjectIdentifier: HeapPlaces] = [:]
    }
}
