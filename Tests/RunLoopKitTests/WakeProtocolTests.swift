import Synchronization
import TestSupport
import Testing

@testable import RunLoopKit

/// The protocol of `Waker`, step by step, in every interleaving of a loop and two senders.
///
/// Each side is a little program of atomic steps. A sender that *wakes* publishes what the loop reads when it begins a
/// pass; one that *nudges*, what it reads before it sleeps and after it has slept. The explorer takes every path
/// through them, searches for a state in which the loop sleeps for ever although work waits, and counts needless
/// writes.
private struct WakeModel: Hashable {
    struct Word: Hashable {
        enum State: Hashable { case awake, asleep, hosted }
        var state: State
        var isNotified = false
        var isNudged = false

        var hasNote: Bool { isNotified || isNudged }
    }

    /// Mistakes in the protocol, which the explorer must find.
    enum Mistake: CaseIterable {
        case none, noteBeforePublishing, sleepWithoutLooking, forgetAfterLooking, writeOnlyIfAwake

        /// Found only with a sender that nudges.
        case sleepWithMessages
    }

    enum Sender: Hashable, CaseIterable { case wakes, nudges }

    /// Who sleeps: the loop, or its host, which says so or does not.
    enum Sleeper: CaseIterable { case loop, host, hostThatSaysSo }

    private let sleeper: Sleeper
    /// The value of the word while the loop runs: *awake*, or *hosted*.
    let whileRunning: Word
    let kinds: [Sender]
    var word: Word
    var posted = 0
    var sent = 0
    var edges = 0
    var writes = 0
    /// Whether the host has slept since the loop last asked the kernel.
    private var mayHaveSlept = true
    var loopStep = LoopStep.forget
    var senderSteps = [0, 0]
    var found: [Word]

    enum LoopStep: Hashable { case forget, lookAtPosts, lookAtMessages, beginWait, wait, endWait, takeMessages }

    static let isDone = 3

    init(_ kinds: [Sender], _ sleeper: Sleeper) {
        self.sleeper = sleeper
        whileRunning = Word(state: sleeper == .host ? .hosted : .awake)
        word = whileRunning
        self.kinds = kinds
        found = [word, word]
    }

    /// The states that follow when sender `index` takes a step.
    func sender(_ index: Int, _ mistake: Mistake) -> WakeModel? {
        var next = self
        let steps: [Int] = mistake == .noteBeforePublishing ? [1, 0, 2] : [0, 1, 2]
        guard senderSteps[index] < WakeModel.isDone else { return nil }
        switch (steps[senderSteps[index]], kinds[index]) {
        case (0, .wakes): next.posted += 1
        case (0, .nudges): next.sent += 1
        case (1, let kind):
            next.found[index] = word
            if kind == .wakes { next.word.isNotified = true } else { next.word.isNudged = true }
        default:
            let isAwake = found[index].state == .awake
            if !found[index].hasNote, mistake == .writeOnlyIfAwake ? isAwake : !isAwake {
                next.edges += 1
                next.writes += 1
            }
        }
        next.senderSteps[index] += 1
        return next
    }

    /// The states that may follow when the loop takes a step; none if it is asleep and no sender has written.
    func loop(_ mistake: Mistake) -> [WakeModel] {
        switch sleeper {
        case .loop: [runningLoop(mistake)].compactMap { $0 }
        case .host: [hostedLoop(mistake)].compactMap { $0 }
        case .hostThatSaysSo: loopOfHostThatSaysSo(mistake)
        }
    }

    private func runningLoop(_ mistake: Mistake) -> WakeModel? {
        var next = self
        switch loopStep {
        case .forget, .lookAtPosts: next.beginPass(mistake)
        case .lookAtMessages:
            next.loopStep = sent > 0 && mistake != .sleepWithMessages ? .endWait : .beginWait
        case .beginWait:
            let mayWait = word == whileRunning || mistake == .sleepWithoutLooking
            if mayWait { next.word.state = .asleep }
            next.loopStep = mayWait ? .wait : .endWait
        case .wait:
            guard edges > 0 else { return nil }
            next.edges = 0
            next.loopStep = .endWait
        case .endWait:
            next.word = whileRunning
            next.loopStep = .takeMessages
        case .takeMessages:
            next.sent = 0
            next.loopStep = .forget
        }
        return next
    }

    private mutating func beginPass(_ mistake: Mistake) {
        let isFirst = loopStep == .forget
        if isFirst != (mistake == .forgetAfterLooking) { word = whileRunning } else { posted = 0 }
        loopStep = isFirst ? .lookAtPosts : .lookAtMessages
    }

    /// The same for a hosted loop whose host marks it asleep and awake. The host may wake for what is its own, and then
    /// goes to sleep again without a pass.
    private func loopOfHostThatSaysSo(_ mistake: Mistake) -> [WakeModel] {
        var next = self
        switch loopStep {
        case .forget, .lookAtPosts: next.beginPass(mistake)
        case .lookAtMessages:  // Asks the kernel only after a sleep.
            if mayHaveSlept { next.edges = 0 }
            next.mayHaveSlept = false
            next.loopStep = .endWait
        case .endWait:
            next.loopStep = word.isNotified && mistake != .sleepWithoutLooking ? .forget : .takeMessages
            next.word = whileRunning
        case .takeMessages:
            next.loopStep = sent > 0 && mistake != .sleepWithMessages ? .forget : .beginWait
            if mistake != .sleepWithMessages { next.sent = 0 }
        case .beginWait:
            let mayWait = word == whileRunning || mistake == .sleepWithoutLooking
            if mayWait { next.word.state = .asleep }
            next.mayHaveSlept = mayHaveSlept || mayWait
            next.loopStep = mayWait ? .wait : .forget
        case .wait:
            next.word.state = .awake
            var wakesForItself = next
            wakesForItself.loopStep = .beginWait
            guard edges > 0 else { return [wakesForItself] }
            next.loopStep = .forget
            return [next, wakesForItself]
        }
        return [next]
    }

    /// The same for a hosted loop, which never publishes that it sleeps: its host waits.
    private func hostedLoop(_ mistake: Mistake) -> WakeModel? {
        var next = self
        switch loopStep {
        case .forget, .lookAtPosts: next.beginPass(mistake)
        case .lookAtMessages, .beginWait:  // The last fetch takes all edges.
            next.edges = 0
            next.loopStep = .endWait
        case .endWait:  // Another pass if there was a wake-up.
            next.loopStep = word.isNotified && mistake != .sleepWithoutLooking ? .forget : .takeMessages
            next.word = whileRunning
        case .takeMessages:  // Another pass if there are any.
            next.loopStep = sent > 0 && mistake != .sleepWithMessages ? .forget : .wait
            if mistake != .sleepWithMessages { next.sent = 0 }
        case .wait:
            guard edges > 0 else { return nil }
            next.loopStep = .forget
        }
        return next
    }

    var isStuck: Bool {
        loopStep == .wait && edges == 0 && posted + sent > 0 && senderSteps == [WakeModel.isDone, WakeModel.isDone]
    }
}

@Suite(.timeBound) struct WakeProtocolTests {
    private static let senders: [[WakeModel.Sender]] = [[.wakes, .wakes], [.wakes, .nudges], [.nudges, .nudges]]

    /// Visits every reachable state; returns the number of states, whether any loses work, and the most writes in any.
    private func explore(
        _ mistake: WakeModel.Mistake, _ senders: [WakeModel.Sender], _ sleeper: WakeModel.Sleeper
    ) -> (states: Int, losesWork: Bool, mostWrites: Int) {
        var seen: Set<WakeModel> = []
        var open = [WakeModel(senders, sleeper)]
        var losesWork = false
        var mostWrites = 0
        while let state = open.popLast() {
            guard seen.insert(state).inserted else { continue }
            losesWork = losesWork || state.isStuck
            mostWrites = max(mostWrites, state.writes)
            open += [state.sender(0, mistake), state.sender(1, mistake)].compactMap { $0 } + state.loop(mistake)
        }
        return (seen.count, losesWork, mostWrites)
    }

    @Test("No interleaving loses a wake-up or a nudge", arguments: senders, WakeModel.Sleeper.allCases)
    private func everyInterleaving(_ senders: [WakeModel.Sender], _ sleeper: WakeModel.Sleeper) {
        let result = explore(.none, senders, sleeper)
        #expect(result.states > 100)
        #expect(!result.losesWork)
        #expect(result.mostWrites <= 2)
    }

    @Test(
        "The explorer finds mistakes", arguments: WakeModel.Mistake.allCases.filter { $0 != .none },
        WakeModel.Sleeper.allCases)
    private func explorerFindsMistakes(_ mistake: WakeModel.Mistake, _ sleeper: WakeModel.Sleeper) {
        let senders = WakeProtocolTests.senders.filter { mistake != .sleepWithMessages || $0.contains(.nudges) }
        #expect(senders.contains { explore(mistake, $0, sleeper).losesWork })
    }

    @Test("A sender writes only when the loop sleeps")
    func senderWrites() throws {
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

    /// Of a note and a nudge, in either order, only the first to find the loop asleep writes; and a nudge is no
    /// wake-up.
    @Test("A nudge writes only when the loop sleeps", arguments: [false, true])
    func nudgeWrites(isHosted: Bool) throws {
        let waker = Waker()
        try waker.open()
        waker.nudge()
        #expect(waker.writes.load(ordering: .relaxed) == 0)
        #expect(!waker.beginWait(), "the nudge keeps it from sleeping")
        #expect(!waker.endWait())

        waker.setHosted(isHosted)
        #expect(isHosted || waker.beginWait())
        #expect(waker.isAsleep)
        waker.nudge()
        waker.wake()
        waker.nudge()
        #expect(!waker.isAsleep)
        #expect(waker.writes.load(ordering: .relaxed) == 1 && System.isReadable(waker.descriptor))
        #expect(waker.endWait())
        // It would wait for ever for a write that it expects of a sender.
        waker.close()
    }

    /// A stop that comes after a pass has checked for one, and before the next begins: its wake-up would be forgotten
    /// with all others.
    @Test("The wake-up of a stop is not lost")
    func wakeUpOfAStop() throws {
        let (loop, _) = Loop.inVirtualTime()
        loop.lock.lock()
        let entered = loop.enterRun(in: loop.defaultState)
        defer { loop.leaveRun(entered) }
        let run = try #require(loop.innermostRun)
        loop.wakeUp()
        loop.forgetWakeUps(for: run)
        #expect(loop.waker.beginWait(), "an ordinary wake-up is forgotten")
        #expect(!loop.waker.endWait())

        loop.stop()
        loop.forgetWakeUps(for: run)
        #expect(loop.mustLookAgain(insteadOfSleepIn: run), "a stop keeps the loop from sleeping")
    }

    /// The sender has published its note and has not reached its write.
    @Test("Closing waits for a sender that is about to write", arguments: [false, true])
    func closingWaits(isHosted: Bool) throws {
        let waker = Waker()
        try waker.open()
        waker.setHosted(isHosted)
        #expect(isHosted || waker.beginWait())
        waker.wake()
        #expect(System.drain(eventFD: waker.descriptor) == 1)
        waker.setHosted(false)
        let (closes, hasWritten) = (Gate(), Gate())
        let descriptor = waker.descriptor
        let sender = try System.startThread(stackSize: nil) {
            closes.wait()
            hasWritten.open()
            System.signal(eventFD: descriptor)
        }
        closes.open()
        waker.close()
        #expect(hasWritten.isOpenNow)
        System.join(sender)
    }

    @Test("A nudge is no wake-up")
    func nudgeIsNoWakeUp() throws {
        let waker = Waker()
        try waker.open()
        #expect(waker.beginWait())
        waker.nudge()
        #expect(System.isReadable(waker.descriptor))
        #expect(!waker.endWait())
    }

    /// On the real implementation: the loop sees every number that a sender publishes, in any schedule.
    @Test("Every post of many threads runs")
    func manyPosts() throws {
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
