import TestSupport
import Testing

/// A protocol as a set of states, each with the states that may follow it.
private protocol ProtocolModel: Hashable {
    var next: [Self] { get }
    /// Whether the state itself breaks a promise.
    var isBroken: Bool { get }
    /// Whether every thread has done its work.
    var isDone: Bool { get }
}

extension ProtocolModel {
    /// Visits every state that can be reached. Returns whether one is broken, or is a dead end before the work is done.
    fileprivate var fails: Bool {
        var seen: Set<Self> = []
        var open = [self]
        while let state = open.popLast() {
            guard seen.insert(state).inserted else { continue }
            let next = state.next
            if state.isBroken || (next.isEmpty && !state.isDone) { return true }
            open += next
        }
        return false
    }
}

/// `Lock`: three threads that each take it once.
private struct LockModel: ProtocolModel {
    enum Mistake: CaseIterable { case none, takesInTwoSteps, waiterLeavesOne, sleepsUnchecked, unlocksWithoutWaking }
    enum Step { case take, store, exchange, wait, asleep, holds, wake, done }

    let mistake: Mistake
    var word = 0
    var threads = [Step](repeating: .take, count: 3)

    var isBroken: Bool { threads.count { $0 == .holds } > 1 }
    var isDone: Bool { threads.allSatisfy { $0 == .done } }
    var next: [LockModel] { threads.indices.flatMap { steps(of: $0) } }

    private func steps(of thread: Int) -> [LockModel] {
        var next = self
        switch threads[thread] {
        case .take where mistake == .takesInTwoSteps: next.threads[thread] = word == 0 ? .store : .exchange
        case .take:
            next.threads[thread] = word == 0 ? .holds : .exchange
            if word == 0 { next.word = 1 }
        case .store:
            next.word = 1
            next.threads[thread] = .holds
        case .exchange:
            next.word = mistake == .waiterLeavesOne && word == 0 ? 1 : 2
            next.threads[thread] = word == 0 ? .holds : .wait
        case .wait: next.threads[thread] = word == 2 || mistake == .sleepsUnchecked ? .asleep : .exchange
        case .holds:
            next.word = 0
            next.threads[thread] = word == 2 && mistake != .unlocksWithoutWaking ? .wake : .done
        case .wake:
            next.threads[thread] = .done
            let sleepers = threads.indices.filter { threads[$0] == .asleep }
            guard !sleepers.isEmpty else { break }
            return sleepers.map { sleeper in
                var woken = next
                woken.threads[sleeper] = .exchange
                return woken
            }
        case .asleep, .done: return []
        }
        return [next]
    }
}

/// `Condition`: two threads that wait for a change, and one that makes it. What is done with the lock held is one step.
private struct ConditionModel: ProtocolModel {
    enum Mistake: CaseIterable { case none, countsLate, readsLate, broadcastsBeforeTheChange, doesNotCountBroadcasts }
    enum Waiter { case looks, counts, reads, waits, asleep, done }

    let mistake: Mistake
    var hasChanged = false
    var waiting = 0
    var broadcasts = 0
    var waiters = [Waiter.looks, .looks]
    var seen = [0, 0]
    var changerStep = 0

    var isBroken: Bool { false }
    var isDone: Bool { waiters.allSatisfy { $0 == .done } && changerStep == 4 }
    var next: [ConditionModel] { waiters.indices.compactMap { step(ofWaiter: $0) } + [stepOfChanger].compactMap { $0 } }

    private func step(ofWaiter index: Int) -> ConditionModel? {
        var next = self
        switch waiters[index] {
        case .looks where hasChanged: next.waiters[index] = .done
        case .looks:
            if mistake != .countsLate { next.waiting += 1 }
            next.seen[index] = broadcasts
            next.waiters[index] = mistake == .countsLate ? .counts : mistake == .readsLate ? .reads : .waits
        case .counts:
            next.waiting += 1
            next.waiters[index] = .waits
        case .reads:
            next.seen[index] = broadcasts
            next.waiters[index] = .waits
        case .waits where broadcasts == seen[index]: next.waiters[index] = .asleep
        case .waits:
            next.waiting -= 1
            next.waiters[index] = .looks
        case .asleep, .done: return nil
        }
        return next
    }

    private var stepOfChanger: ConditionModel? {
        var next = self
        next.changerStep += 1
        let steps = mistake == .broadcastsBeforeTheChange ? [1, 2, 3, 0] : [0, 1, 2, 3]
        guard changerStep < steps.count else { return nil }
        switch steps[changerStep] {
        case 0: next.hasChanged = true
        case 1: if waiting == 0 { next.changerStep += 2 }
        case 2: if mistake != .doesNotCountBroadcasts { next.broadcasts += 1 }
        default:
            for index in waiters.indices where waiters[index] == .asleep {
                next.waiting -= 1
                next.waiters[index] = .looks
            }
        }
        return next
    }
}

/// `SharedList`: two threads that read, and one that replaces the elements and releases the old ones.
private struct SharedListModel: ProtocolModel {
    enum Mistake: CaseIterable { case none, releasesAtOnce, waitsBeforeTheSwap, readsBeforeItCounts }

    let mistake: Mistake
    var elements = 0
    var released: Int?
    var readers = 0
    var readerSteps = [0, 0]
    var found = [0, 0]
    var changerStep = 0

    /// A reader uses what is released.
    var isBroken: Bool { readerSteps.indices.contains { readerSteps[$0] == 2 && found[$0] == released } }
    var isDone: Bool { readerSteps == [3, 3] && changerStep == 3 }
    var next: [SharedListModel] {
        readerSteps.indices.compactMap { step(ofReader: $0) } + [stepOfChanger].compactMap { $0 }
    }

    private func step(ofReader index: Int) -> SharedListModel? {
        var next = self
        next.readerSteps[index] += 1
        let steps = mistake == .readsBeforeItCounts ? [1, 0, 2] : [0, 1, 2]
        guard readerSteps[index] < steps.count else { return nil }
        switch steps[readerSteps[index]] {
        case 0: next.readers += 1
        case 1: next.found[index] = elements
        default: next.readers -= 1
        }
        return next
    }

    private var stepOfChanger: SharedListModel? {
        var next = self
        next.changerStep += 1
        let steps = mistake == .waitsBeforeTheSwap ? [1, 0, 2] : [0, 1, 2]
        guard changerStep < steps.count else { return nil }
        switch steps[changerStep] {
        case 0: next.elements = 1
        case 1: if readers > 0, mistake != .releasesAtOnce { return nil }
        default: next.released = 0
        }
        return next
    }
}

/// The protocols of `Lock`, `Condition` and `SharedList` in every interleaving of their atomic steps.
@Suite(.timeBound) struct LockProtocolTests {
    @Test("No two threads hold a lock, and none sleeps for a free one", arguments: LockModel.Mistake.allCases)
    fileprivate func lock(_ mistake: LockModel.Mistake) {
        #expect(LockModel(mistake: mistake).fails == (mistake != .none))
    }

    @Test("No thread sleeps for a change that was made", arguments: ConditionModel.Mistake.allCases)
    fileprivate func condition(_ mistake: ConditionModel.Mistake) {
        #expect(ConditionModel(mistake: mistake).fails == (mistake != .none))
    }

    @Test("No thread reads elements that are released", arguments: SharedListModel.Mistake.allCases)
    fileprivate func sharedList(_ mistake: SharedListModel.Mistake) {
        #expect(SharedListModel(mistake: mistake).fails == (mistake != .none))
    }
}
