import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

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

/// `SharedList`: two threads that read, and one that changes the list twice.
private struct SharedListModel: ProtocolModel {
    enum Mistake: CaseIterable { case none, releasesAtOnce, looksBeforeTheSwap, readsBeforeItCounts }

    let mistake: Mistake
    var elements = 0
    /// The elements below this number are released.
    var released = 0
    var readers = 0
    var readerSteps = [0, 0]
    var found = [0, 0]
    var changerStep = 0
    var hasSeenNone = false

    /// A reader uses what is released.
    var isBroken: Bool { readerSteps.indices.contains { readerSteps[$0] == 2 && found[$0] < released } }
    var isDone: Bool { readerSteps == [3, 3] && changerStep == 6 }
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

    /// It waits for no reader.
    private var stepOfChanger: SharedListModel? {
        var next = self
        next.changerStep += 1
        guard changerStep < 6 else { return nil }
        let steps = mistake == .looksBeforeTheSwap ? [1, 0, 2] : [0, 1, 2]
        switch steps[changerStep % 3] {
        case 0: next.elements += 1
        case 1: next.hasSeenNone = readers == 0 || mistake == .releasesAtOnce
        default: if hasSeenNone { next.released = elements }
        }
        return next
    }
}

/// `Readers`: two threads that read, and one that makes a change, waits, and then needs that none reads what was there
/// before.
private struct ReadersModel: ProtocolModel {
    enum Mistake: CaseIterable { case none, readsBeforeItEnters, sleepsUnchecked, asksForNoWakeUp, leavesWithoutWaking }
    enum Waiter { case changes, asks, looks, sleeps, asleep, done }

    let mistake: Mistake
    var hasChanged = false
    var count = 0
    var isAsked = false
    var readerSteps = [0, 0]
    var hasFoundChange = [false, false]
    var waiter = Waiter.changes
    /// What the waiting thread has found in the word.
    var seen = 0

    var isBroken: Bool {
        waiter == .done && readerSteps.indices.contains { readerSteps[$0] == 2 && !hasFoundChange[$0] }
    }
    var isDone: Bool { readerSteps.allSatisfy { $0 == 3 } && waiter == .done }
    var next: [ReadersModel] {
        readerSteps.indices.compactMap { step(ofReader: $0) } + [stepOfWaiter].compactMap { $0 }
    }

    private func step(ofReader index: Int) -> ReadersModel? {
        var next = self
        next.readerSteps[index] += 1
        let steps = mistake == .readsBeforeItEnters ? [1, 0, 2] : [0, 1, 2]
        guard readerSteps[index] < steps.count else { return nil }
        switch steps[readerSteps[index]] {
        case 0: next.count += 1
        case 1: next.hasFoundChange[index] = hasChanged
        default:
            next.count -= 1
            let wakes = next.count == 0 && isAsked && mistake != .leavesWithoutWaking
            if wakes, waiter == .asleep { next.waiter = .looks }
        }
        return next
    }

    private var stepOfWaiter: ReadersModel? {
        var next = self
        switch waiter {
        case .changes:
            next.hasChanged = true
            next.waiter = .asks
        case .asks:
            if mistake != .asksForNoWakeUp { next.isAsked = true }
            next.waiter = .looks
        case .looks:
            next.seen = count
            next.waiter = count == 0 ? .done : .sleeps
        case .sleeps: next.waiter = count == seen || mistake == .sleepsUnchecked ? .asleep : .looks
        case .asleep, .done: return nil
        }
        return next
    }
}

/// The protocols of `Lock`, `Condition`, `SharedList` and `Readers` in every interleaving of their atomic steps.
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

    @Test("A thread that waits for readers sleeps until there are none", arguments: ReadersModel.Mistake.allCases)
    fileprivate func readers(_ mistake: ReadersModel.Mistake) {
        #expect(ReadersModel(mistake: mistake).fails == (mistake != .none))
    }

    /// As when a thread of a higher priority changes the list on the processor of one that reads it.
    @Test("A change of a list waits for no reader, and keeps what it reads")
    func changeBesideReader() {
        weak var first: Log<Int>?
        let list = SharedList<Log<Int>>()
        do {
            let log = Log<Int>()
            first = log
            list.change { $0.append(log) }
        }
        list.read { logs in
            list.change { $0.removeAll() }
            list.change { $0.append(Log<Int>()) }
            #expect(first != nil && logs.count == 1 && logs[0] === first)
        }
        list.change { $0.removeAll() }
        #expect(first == nil, "the next change releases it")
    }

    @Test("Invalidating a port waits for no thread that sends to it")
    func invalidationBesideSender() throws {
        let loop = Loop.inVirtualTime().0
        defer { loop.end() }
        let port = try Loop.PortSource { _ in }
        loop.add(port)
        port.notes.read { _ in port.invalidate() }
        #expect(!loop.contains(port))
    }

    @Test("The last reader wakes the thread that waits")
    func lastReaderWakes() throws {
        let gate = ReadersBox()
        gate.readers.enter()
        gate.readers.enter()
        let hasWaited = Gate()
        let waiter = try System.startThread(stackSize: nil) {
            gate.readers.waitUntilNone()
            hasWaited.open()
        }
        gate.readers.leave()
        #expect(!hasWaited.isOpenNow)
        gate.readers.leave()
        hasWaited.wait()
        System.join(waiter)
        let areNone = gate.readers.areNone
        #expect(areNone)
    }

    private final class ReadersBox: Sendable { let readers = Readers() }
}
