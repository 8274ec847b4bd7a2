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

    /// Every fourth program is a large one, which fills the heap and empties it in turn: a heap that has become sparse
    /// moves its timers to other slots.
    @Test("The heap behaves like a sorted list", arguments: 1...max(4, programCount(24)))
    func sortedList(seed: UInt64) {
        let isLarge = seed % 4 == 0
        let size = isLarge ? 200 : 30
        var random = SplitMix(seed)
        var heap = DeadlineHeap<Member>()
        let owner = Owner()
        heap.owner = ObjectIdentifier(owner)
        var model = Model()
        let timers = (0..<size).map { _ in Member() }
        let hasTolerance = seed % 3 == 0
        for step in 0..<(isLarge ? 3_000 : 600) {
            let isEmptying = isLarge && step % 1_500 >= 700
            let timer = timers[Int(random.next() % UInt64(size))]
            let deadline = Int64(random.next() % 50)
            let tolerance = hasTolerance ? Int64(random.next() % 20) : 0
            let isIn = model.entries.contains { $0 === timer }
            switch (isEmptying ? 0 : random.next() % 5, isIn) {
            case (0, false) where isEmptying: break
            case (0, true):
                heap.remove(timer)
                model.entries.removeAll { $0 === timer }
            case (1, true):
                model.set(timer, random.next() % 2 == 0 ? TimerHeap.stopped : TimerHeap.idle)
                heap.update(timer, timer.times)
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
        #expect(timers.allSatisfy { !$0.isInHeap })
    }

    @Test("Timers that are left in a sparse heap move to its first slots")
    func sparse() {
        var heap = DeadlineHeap<Member>()
        let owner = Owner()
        heap.owner = ObjectIdentifier(owner)
        let timers = (0..<1_000).map { Member(Int64($0 * 7_919 % 1_000)) }
        timers[999].times.latest += 1
        for timer in timers { heap.insert(timer, timer.times) }
        for timer in timers[..<990] { heap.remove(timer) }
        var slots: [UInt32] = []
        for timer in timers { if let slot = heap.slot(of: timer) { slots.append(slot) } }
        #expect(slots.count == 10 && slots.allSatisfy { $0 < 125 })
        var due: [Member] = []
        heap.collectDue(at: 1_000, into: &due)
        #expect(due.map(\.times.deadline) == timers[990...].map(\.times.deadline).sorted())
        let wakeUpTime = heap.wakeUpTime
        #expect(wakeUpTime == timers[990...].map(\.times.latest).min())
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
        func check(hasSecondOrder: Bool, wakeUpTime: Int64) {
            let (found, time) = (heap.isSortedByLatest, heap.wakeUpTime)
            #expect(found == hasSecondOrder && time == wakeUpTime)
        }
        for timer in timers { heap.insert(timer, timer.times) }
        check(hasSecondOrder: false, wakeUpTime: 0)
        timers[0].times.latest = 3
        heap.update(timers[0], timers[0].times)
        check(hasSecondOrder: true, wakeUpTime: 1)
        for timer in timers { heap.remove(timer) }
        timers[0].times = HeapTimes(deadline: 5, latest: 5, turn: 1)
        heap.insert(timers[0], timers[0].times)
        check(hasSecondOrder: false, wakeUpTime: 5)
    }

    /// Slots of different heaps often have the same number.
    @Test("Timers are in several heaps", arguments: 1...programCount(20))
    func severalHeaps(seed: UInt64) {
        var random = SplitMix(seed)
        let timers = (0..<100).map { _ in Member() }
        let heaps = (0..<4).map { _ in BoxedHeap() }
        var members = heaps.map { _ in Set<Int>() }
        for step in 0..<3_000 {
            let (index, changed) = (Int(random.next() % 4), Int(random.next() % 100))
            let (number, heap, timer) = (changed, heaps[index], timers[changed])
            if step % 1_000 == 999 {
                heap.heap.removeAll()
                members[index] = []
            } else if members[index].contains(number) {
                timer.times.deadline = Int64(random.next() % 50)
                timer.times.latest = timer.times.deadline
                for (other, box) in heaps.enumerated() where members[other].contains(number) {
                    box.heap.update(timer, timer.times)
                }
                if random.next() % 2 == 0 || step % 1_000 > 600 {
                    if !heap.heap.remove(timer) { Issue.record("not removed") }
                    members[index].remove(number)
                }
            } else if step % 1_000 < 600 {
                heap.heap.insert(timer, timer.times)
                members[index].insert(number)
            } else if heap.heap.remove(timer) {
                Issue.record("removed, and was not there")
            }
            // Recorded only on failure: an expectation costs much more than the step it checks.
            for (number, timer) in timers.enumerated() where step % 50 == 0 || number == changed {
                let isIn = members.map { $0.contains(number) }
                if heaps.map({ $0.heap.slot(of: timer) != nil }) != isIn { Issue.record("\(number) at step \(step)") }
                if timer.isInHeap != isIn.contains(true) { Issue.record("whether \(number) is in a heap") }
            }
            let earliest = members[index].map { timers[$0].times.deadline }.min()
            if heap.heap.earliestDeadline != earliest { Issue.record("earliest deadline at step \(step)") }
        }
    }

    private final class BoxedHeap {
        var heap = DeadlineHeap<Member>()

        init() { heap.owner = ObjectIdentifier(self) }
    }

    private final class Owner {}

    private final class Member: HeapMember {
        var times: HeapTimes
        var slot = noSlot
        var otherSlots: [ObjectIdentifier: UInt32] = [:]
        var hasOtherSlots: Bool { !otherSlots.isEmpty }
        init(_ deadline: Int64 = 0) { times = HeapTimes(deadline: deadline, latest: deadline, turn: 0) }

        var heapTimes: HeapTimes { times }
    }
}
