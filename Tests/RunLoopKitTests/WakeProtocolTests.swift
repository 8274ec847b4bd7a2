import Synchronization
import Testing

@testable import RunLoopKit

/// The protocol of `Waker`, step by step, in every interleaving of a loop and two senders.
///
/// Each side is a little program of atomic steps. The explorer takes every path through them and looks for a state in
/// which the loop sleeps for ever although work waits, and counts needless writes.
private struct WakeModel: Hashable {
    enum Word: Hashable { case running, asleep, notified, hosted }

    /// Ways to get it wrong, to show that the explorer would notice.
    enum Mistake: CaseIterable {
        case none, swapBeforePublishing, sleepWithoutLooking, forgetAfterLooking, writeOnlyIfRunning
    }

    /// What the word says while the loop is awake: *running*, or *hosted*.
    let awake: Word
    var word: Word
    var published = 0
    var edges = 0
    var writes = 0
    var loopStep = 0
    var isBlocked = false
    var senders = [0, 0]
    var found = [Word.running, .running]

    static let isDone = 3

    init(isHosted: Bool = false) {
        awake = isHosted ? .hosted : .running
        word = awake
    }

    /// The states that follow when sender `index` takes a step.
    func sender(_ index: Int, _ mistake: Mistake) -> WakeModel? {
        var next = self
        let steps: [Int] = mistake == .swapBeforePublishing ? [1, 0, 2] : [0, 1, 2]
        guard senders[index] < WakeModel.isDone else { return nil }
        switch steps[senders[index]] {
        case 0: next.published += 1
        case 1:
            next.found[index] = word
            next.word = .notified
        default:
            let isAsleep = found[index] == .asleep || found[index] == .hosted
            let mustWrite = mistake == .writeOnlyIfRunning ? found[index] == .running : isAsleep
            if mustWrite {
                next.edges += 1
                next.writes += 1
            }
        }
        next.senders[index] += 1
        return next
    }

    /// The state that follows when the loop takes a step; nil when it is asleep and nobody wrote.
    func loop(_ mistake: Mistake) -> WakeModel? {
        guard awake == .running else { return hostedLoop(mistake) }
        var next = self
        switch loopStep {
        case 0:  // forget, or look
            if mistake == .forgetAfterLooking { next.published = 0 } else { next.word = .running }
            next.loopStep = 1
        case 1:  // look, or forget
            if mistake == .forgetAfterLooking { next.word = .running } else { next.published = 0 }
            next.loopStep = 2
        case 2:  // beginWait
            if word == .running || mistake == .sleepWithoutLooking {
                next.word = .asleep
                next.loopStep = 3
            } else {
                next.loopStep = 4
            }
        case 3:  // epoll_wait
            guard edges > 0 else { return nil }
            next.edges = 0
            next.loopStep = 4
        default:  // endWait
            next.word = .running
            next.loopStep = 0
        }
        return next
    }

    /// The same for a hosted loop, which never says that it sleeps: step 3 is its host's.
    private func hostedLoop(_ mistake: Mistake) -> WakeModel? {
        var next = self
        switch loopStep {
        case 0:  // forget, or look
            if mistake == .forgetAfterLooking { next.published = 0 } else { next.word = .hosted }
            next.loopStep = 1
        case 1:  // look, or forget
            if mistake == .forgetAfterLooking { next.word = .hosted } else { next.published = 0 }
            next.loopStep = 2
        case 2:  // the last fetch takes all edges; then endWait
            next.edges = 0
            next.loopStep = 4
        case 3:  // the host's wait
            guard edges > 0 else { return nil }
            next.loopStep = 0
        default:  // endWait: another pass if there was a wake-up
            next.loopStep = word == .notified && mistake != .sleepWithoutLooking ? 0 : 3
            next.word = .hosted
        }
        return next
    }

    var isStuck: Bool {
        loopStep == 3 && edges == 0 && published > 0 && senders == [WakeModel.isDone, WakeModel.isDone]
    }
}

@Suite struct WakeProtocolTests {
    /// Visits every reachable state; returns how many there are, whether any loses work, and the most writes in any.
    private func explore(
        _ mistake: WakeModel.Mistake, isHosted: Bool = false
    ) -> (states: Int, losesWork: Bool, mostWrites: Int) {
        var seen: Set<WakeModel> = []
        var open = [WakeModel(isHosted: isHosted)]
        var losesWork = false
        var mostWrites = 0
        while let state = open.popLast() {
            guard seen.insert(state).inserted else { continue }
            losesWork = losesWork || state.isStuck
            mostWrites = max(mostWrites, state.writes)
            open += [state.sender(0, mistake), state.sender(1, mistake), state.loop(mistake)].compactMap { $0 }
        }
        return (seen.count, losesWork, mostWrites)
    }

    @Test func noInterleavingLosesAWakeUp() {
        let result = explore(.none)
        #expect(result.states > 100)
        #expect(!result.losesWork)
        #expect(result.mostWrites <= 2)
    }

    @Test func noInterleavingLosesAWakeUpOfAHostedLoop() {
        let result = explore(.none, isHosted: true)
        #expect(result.states > 100)
        #expect(!result.losesWork)
    }

    @Test(arguments: WakeModel.Mistake.allCases.filter { $0 != .none })
    private func theExplorerFindsMistakesInHosting(_ mistake: WakeModel.Mistake) {
        #expect(explore(mistake, isHosted: true).losesWork)
    }

    @Test(arguments: WakeModel.Mistake.allCases.filter { $0 != .none })
    private func theExplorerFindsMistakes(_ mistake: WakeModel.Mistake) {
        #expect(explore(mistake).losesWork)
    }

    @Test func aSenderWritesOnlyWhenTheLoopSleeps() throws {
        let waker = Waker()
        try waker.open()
        waker.wake()
        #expect(waker.writes.load(ordering: .relaxed) == 0)
        #expect(!waker.beginWait())
        #expect(waker.endWait())

        #expect(waker.beginWait())
        #expect(waker.isAsleep)
        waker.wake()
        waker.wake()
        #expect(!waker.isAsleep)
        #expect(waker.writes.load(ordering: .relaxed) == 1)
        #expect(waker.endWait())

        waker.wake()
        #expect(waker.forget())
        #expect(!waker.forget())
        #expect(waker.beginWait())
        #expect(!waker.endWait())
    }

    /// A stop that comes after a pass has looked for one, and before the next begins: its wake-up is forgotten with all others.
    @Test func theWakeUpOfAStopIsNotForgotten() {
        let (loop, _) = Loop.inVirtualTime()
        loop.ignoresWakeUps = true
        loop.stopFlag.store(.running, ordering: .relaxed)
        loop.wakeUp()
        loop.stopIgnoringWakeUps()
        #expect(loop.waker.beginWait(), "an ordinary wake-up is forgotten")
        #expect(!loop.waker.endWait())

        loop.ignoresWakeUps = true
        loop.stop()
        loop.stopIgnoringWakeUps()
        #expect(!loop.waker.beginWait(), "a stop keeps the loop from sleeping")
    }

    @Test func aSilentWakeUpIsNoWakeUp() throws {
        let waker = Waker()
        try waker.open()
        #expect(waker.beginWait())
        waker.wakeSilently()
        #expect(System.isReadable(waker.descriptor))
        #expect(!waker.endWait())
    }

    /// The real thing: every number that a sender publishes is seen, whatever the threads do.
    @Test func everyPostOfManyThreadsRuns() throws {
        let thread = try LoopThread()
        let seen = LoopBound([Int](repeating: 0, count: 4), on: thread.loop)
        let inOrder = LoopBound(true, on: thread.loop)
        let senders = try (0..<4).map { index in
            let sender = try LoopThread()
            sender.perform {
                for number in 1...2500 {
                    thread.loop.perform {
                        if seen.value[index] != number - 1 { inOrder.value = false }
                        seen.value[index] = number
                    }
                    // Let the loop fall asleep now and then.
                    if number % 50 == 0 { spin(until: thread.loop.isWaiting) }
                }
            }
            return sender
        }
        for sender in senders {
            sender.stop()
            sender.join()
        }
        try thread.performAndWait {
            #expect(seen.value == [2500, 2500, 2500, 2500])
            #expect(inOrder.value)
        }
    }
}
