import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct TimerHeapTests {
    /// The specification of the heap: a list that each operation searches and sorts.
    private struct Model {
        var entries: [Member] = []
        var lastTurn: UInt64 = 0

        mutating func set(_ timer: Member, _ deadline: Int64, _ tolerance: Int64 = 0) {
            lastTurn += 1
            timer.times = HeapTimes(deadline: deadline, latest: deadline + tolerance, turn: lastTurn)
        }

        func due(_ now: Int64) -> [Member] {
            entries.filter { $0.times.deadline <= now }.sorted {
                ($0.times.deadline, $0.times.turn) < ($1.times.deadline, $1.times.turn)
            }
        }

        var earliestDeadline: Int64? {
            entries.map(\.times.deadline).filter { $0 < TimerHeap.stopped }.min()
        }

        /// CF's rule, as the reference describes it.
        var wakeUpTime: Int64? {
            var hard = TimerHeap.stopped
            for times in entries.map(\.times).sorted(by: { $0.deadline < $1.deadline }) {
                if times.deadline > hard { break }
                hard = min(hard, times.latest)
            }
            return hard == TimerHeap.stopped ? nil : hard
        }

        var isIdle: Bool { entries.allSatisfy { $0.times.deadline == TimerHeap.idle } }
    }

    @Test("The heap behaves like a sorted list", arguments: 1...20 as ClosedRange<UInt64>)
    func sortedList(seed: UInt64) {
        var random = SplitMix(seed)
        var heap = DeadlineHeap<Member>()
        let owner = Owner()
        heap.owner = ObjectIdentifier(owner)
        var model = Model()
        let timers = (0..<30).map { _ in Member() }
        let hasTolerance = seed % 2 == 0
        for _ in 0..<600 {
            let timer = timers[Int(random.next() % 30)]
            let deadline = Int64(random.next() % 50)
            let tolerance = hasTolerance ? Int64(random.next() % 20) : 0
            let isIn = model.entries.contains { $0 === timer }
            switch (random.next() % 5, isIn) {
            case (0, true):
                heap.remove(timer)
                model.entries.removeAll { $0 === timer }
            case (1, true):
                model.set(timer, random.next() % 2 == 0 ? TimerHeap.stopped : TimerHeap.idle)
                heap.update(timer, timer.times)
            case (2, true) where timer.times.deadline < TimerHeap.stopped:
                // Later: the heap does not need to know.
                let tolerance = timer.times.latest - timer.times.deadline
                model.set(timer, timer.times.deadline + Int64(random.next() % 10), tolerance)
            case (3, true):
                // Without a time, and later with one that is not earlier than the heap's.
                let (before, tolerance) = (timer.times.deadline, timer.times.latest - timer.times.deadline)
                model.set(timer, TimerHeap.idle)
                if before < TimerHeap.stopped, random.next() % 2 == 0 { model.set(timer, before, tolerance) }
            case (_, true):
                model.set(timer, deadline, tolerance)
                heap.update(timer, timer.times)
            case (_, false):
                model.set(timer, deadline, tolerance)
                model.entries.append(timer)
                heap.insert(timer, timer.times)
            }
            let now = Int64(random.next() % 60)
            var due: [Member] = []
            // Half of the time before the heap has corrected its first nodes.
            if random.next() % 2 == 0, heap.wakeUpTime != model.wakeUpTime { Issue.record("wake-up time") }
            heap.collectDue(at: now, into: &due)
            // Recorded only on failure: an expectation costs much more than the step it checks.
            if !due.elementsEqual(model.due(now), by: ===) { Issue.record("due at \(now)") }
            if let only = heap.onlyDue(at: now), !(due.count == 1 && due[0] === only) { Issue.record("the only one") }
            if heap.wakeUpTime != model.wakeUpTime { Issue.record("wake-up time") }
            if heap.earliestDeadline != model.earliestDeadline { Issue.record("earliest deadline") }
            if heap.isIdle != model.isIdle { Issue.record("idle") }
            if heap.all.count != model.entries.count { Issue.record("count") }
        }
        heap.removeAll()
        if !heap.isEmpty { Issue.record("empty") }
        #expect(timers.allSatisfy { $0[.byDeadline, in: ObjectIdentifier(owner)] == nil })
        #expect(timers.allSatisfy { $0[.byLatest, in: ObjectIdentifier(owner)] == nil })
    }

    @Test("A heap retains its timers until they leave it, or it is gone", arguments: [0, 1] as [Int64])
    func references(tolerance: Int64) {
        weak var removed: Member?
        weak var emptied: Member?
        weak var abandoned: Member?
        let owner = Owner()
        do {
            var heap = DeadlineHeap<Member>()
            heap.owner = ObjectIdentifier(owner)
            func insertNew() -> Member {
                let timer = Member()
                timer.times.latest += tolerance
                heap.insert(timer, timer.times)
                return timer
            }
            removed = insertNew()
            #expect(removed != nil)
            heap.remove(removed!)
            #expect(removed == nil)
            emptied = insertNew()
            #expect(emptied != nil)
            heap.removeAll()
            #expect(emptied == nil)
            abandoned = insertNew()
            #expect(abandoned != nil)
        }
        #expect(abandoned == nil)
    }

    @Test("The second order begins with the first tolerance and ends with the last timer")
    func firstTolerance() {
        var heap = DeadlineHeap<Member>()
        let owner = Owner()
        heap.owner = ObjectIdentifier(owner)
        let timers = (0..<5).map { Member(Int64($0)) }
        func isInSecondOrder(_ timer: Member) -> Bool { timer[.byLatest, in: ObjectIdentifier(owner)] != nil }
        for timer in timers { heap.insert(timer, timer.times) }
        #expect(!timers.contains(where: isInSecondOrder))
        timers[0].times.latest = 3
        heap.update(timers[0], timers[0].times)
        #expect(timers.allSatisfy(isInSecondOrder))
        let first = heap.wakeUpTime
        #expect(first == 1)
        for timer in timers { heap.remove(timer) }
        timers[0].times = HeapTimes(deadline: 5, latest: 5, turn: 1)
        heap.insert(timers[0], timers[0].times)
        #expect(!isInSecondOrder(timers[0]))
        let second = heap.wakeUpTime
        #expect(second == 5)
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
        var times: HeapTimes
        var places = HeapPlaces()
        var otherPlaces: [ObjectIdentifier: HeapPlaces] = [:]
        var hasOtherPlaces: Bool { !otherPlaces.isEmpty }
        var mayBeIdle: Bool { true }

        init(_ deadline: Int64 = 0) { times = HeapTimes(deadline: deadline, latest: deadline, turn: 0) }

        func timesForHeap() -> HeapTimes { times }
    }
}
