import LoopTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RunLoopKit

/// The protocol of `Waker`, step by step, in every interleaving of a loop and two senders.
///
/// Each side is a little program of atomic steps. A sender that *wakes* publishes what the loop reads when it begins a
/// pass; one that *nudges*, what it reads before it sleeps and after it has slept. The explorer takes every path
/// through them, and counts needless writes. It searches for a state in which the loop sleeps for ever although the
/// work of a sender that has returned waits, whatever the other sender does or does not do.
private struct WakeModel: Hashable {
    struct Word: Hashable {
        enum State: Hashable { case awake, asleep, hosted }
        var state: State
        var isNotified = false
        var isNudged = false
        var isWritten = false
        var isClosed = false
        var writers = 0

        var hasNote: Bool { isNotified || isNudged }
    }

    /// Mistakes in the protocol, which the explorer must find.
    enum Mistake: CaseIterable {
        case none, noteBeforePublishing, sleepWithoutLooking, forgetAfterLooking, writeOnlyIfAwake
        /// A sender that finds a note relies on its sender's write.
        case reliesOnOthers
        case addsWrittenBeforeTheWrite, addsWrittenToALaterSleep
        /// A sender that found *hosted*, and is late. Found only with a host that does not say when it sleeps.
        case lateSenderForAHostWritesNothing
        case closesUnderAWriter, lastWriterDoesNotClose

        /// Found only with a sender that nudges.
        case sleepWithMessages

        /// Whether a loop that does not end cannot make it.
        var concernsTheEnd: Bool { self == .closesUnderAWriter || self == .lastWriterDoesNotClose }
    }

    enum Sender: Hashable, CaseIterable { case wakes, nudges }

    /// What a sender does next.
    enum Step: Hashable { case publish, note, beginWriting, write, endWriting, done }

    /// Who sleeps: the loop, or its host, which says so or does not.
    enum Sleeper: CaseIterable { case loop, host, hostThatSaysSo }

    private let sleeper: Sleeper
    private let mistake: Mistake
    /// The state of the word while the loop runs: *awake*, or *hosted*.
    let whileRunning: Word.State
    let kinds: [Sender]
    var word: Word
    /// The work of each sender that the loop has not taken.
    var work = [false, false]
    var edges = 0
    var writes = 0
    /// Whether the host has slept since the loop last asked the kernel.
    private var mayHaveSlept = true
    var loopStep = LoopStep.forget
    var steps = [Step.publish, .publish]
    /// Whether the sleep that each sender has found is going on, and whether it has found *hosted*.
    var isSameSleep = [false, false]
    var foundHosted = [false, false]
    var isOpen = true
    /// A write to a closed eventfd, or a second closing.
    var isBroken = false

    enum LoopStep: Hashable {
        case forget, lookAtPosts, lookAtMessages, beginWait, wait, endWait, takeMessages, ended
        /// A handler runs the host, before the pass has looked at all work.
        case waitInHandler
    }

    init(_ kinds: [Sender], _ sleeper: Sleeper, _ mistake: Mistake) {
        self.sleeper = sleeper
        self.mistake = mistake
        self.kinds = kinds
        whileRunning = sleeper == .host ? .hosted : .awake
        word = Word(state: whileRunning)
    }

    private func has(_ kind: Sender) -> Bool { work.indices.contains { work[$0] && kinds[$0] == kind } }
    private var hasMessages: Bool { has(.nudges) }

    private mutating func take(_ kind: Sender) {
        for index in work.indices where kinds[index] == kind { work[index] = false }
    }

    /// The state that follows when sender `index` takes a step.
    func sender(_ index: Int) -> WakeModel? {
        var next = self
        switch steps[index] {
        case .publish where mistake == .noteBeforePublishing: next.leaveNote(index)
        case .publish:
            next.work[index] = true
            next.steps[index] = .note
        case .note where mistake == .noteBeforePublishing:
            next.work[index] = true
            next.steps[index] = isSameSleep[index] ? .beginWriting : .done
        case .note: next.leaveNote(index)
        case .beginWriting:
            let isForHost = foundHosted[index] && mistake != .lateSenderForAHostWritesNothing
            guard isSameSleep[index] ? !word.isWritten : isForHost, !word.isClosed else {
                next.steps[index] = .done
                break
            }
            next.word.writers += 1
            if mistake == .addsWrittenBeforeTheWrite { next.word.isWritten = true }
            next.steps[index] = .write
        case .write:
            next.isBroken = !isOpen
            next.edges += 1
            next.writes += 1
            next.steps[index] = .endWriting
        case .endWriting:
            next.word.writers -= 1
            if isSameSleep[index] || mistake == .addsWrittenToALaterSleep { next.word.isWritten = true }
            if mistake != .lastWriterDoesNotClose { next.closeIfUnused() }
            next.steps[index] = .done
        case .done: return nil
        }
        return next
    }

    private mutating func leaveNote(_ index: Int) {
        let isAwake = word.state == .awake
        let mayWrite = mistake == .writeOnlyIfAwake ? isAwake : !isAwake
        let writes = mayWrite && !word.isWritten && !(mistake == .reliesOnOthers && word.hasNote)
        isSameSleep[index] = writes
        foundHosted[index] = writes && word.state == .hosted
        if kinds[index] == .wakes { word.isNotified = true } else { word.isNudged = true }
        // With this mistake the work comes next.
        steps[index] = mistake == .noteBeforePublishing ? .note : writes ? .beginWriting : .done
    }

    /// The loop changes the state, and takes the notes that are not kept.
    private mutating func change(to state: Word.State, keepsNotes: Bool = false) {
        word.state = state
        word.isWritten = false
        if !keepsNotes { (word.isNotified, word.isNudged) = (false, false) }
        isSameSleep = [false, false]
    }

    private mutating func closeIfUnused() {
        guard word.isClosed, word.writers == 0 || mistake == .closesUnderAWriter else { return }
        isBroken = isBroken || !isOpen
        isOpen = false
    }

    private var isRunning: Bool { word.state == whileRunning && !word.hasNote }

    /// The states that follow when the loop ends, after any pass.
    var loopEnds: WakeModel? {
        guard loopStep == .forget else { return nil }
        var next = self
        next.change(to: .awake)
        next.word.isClosed = true
        next.loopStep = .ended
        next.closeIfUnused()
        return next
    }

    /// The states that may follow when the loop takes a step; none if it is asleep and no sender has written.
    func loop() -> [WakeModel] {
        switch sleeper {
        case .loop: [runningLoop()].compactMap { $0 }
        case .host: hostedLoop()
        case .hostThatSaysSo: loopOfHostThatSaysSo()
        }
    }

    private func runningLoop() -> WakeModel? {
        var next = self
        switch loopStep {
        case .forget, .lookAtPosts: next.beginPass()
        case .lookAtMessages:
            next.loopStep = hasMessages && mistake != .sleepWithMessages ? .endWait : .beginWait
        case .beginWait:
            let mayWait = isRunning || mistake == .sleepWithoutLooking
            if mayWait { next.change(to: .asleep, keepsNotes: true) }
            next.loopStep = mayWait ? .wait : .endWait
        case .wait:
            guard edges > 0 else { return nil }
            next.edges = 0
            next.loopStep = .endWait
        case .endWait:
            next.change(to: whileRunning)
            next.loopStep = .takeMessages
        case .takeMessages:
            next.take(.nudges)
            next.loopStep = .forget
        case .ended, .waitInHandler: return nil
        }
        return next
    }

    private mutating func beginPass() {
        let isFirst = loopStep == .forget
        if isFirst != (mistake == .forgetAfterLooking) { change(to: whileRunning) } else { take(.wakes) }
        loopStep = isFirst ? .lookAtPosts : .lookAtMessages
    }

    /// The same for a hosted loop whose host marks it asleep and awake. The host may wake for what is its own, and then
    /// goes to sleep again without a pass.
    private func loopOfHostThatSaysSo() -> [WakeModel] {
        var next = self
        switch loopStep {
        case .forget, .lookAtPosts: next.beginPass()
        case .lookAtMessages:  // Asks the kernel only after a sleep.
            if mayHaveSlept { next.edges = 0 }
            next.mayHaveSlept = false
            next.loopStep = .endWait
        case .endWait:
            next.loopStep = word.isNotified && mistake != .sleepWithoutLooking ? .forget : .takeMessages
            next.change(to: whileRunning)
        case .takeMessages:
            next.loopStep = hasMessages && mistake != .sleepWithMessages ? .forget : .beginWait
            if mistake != .sleepWithMessages { next.take(.nudges) }
        case .beginWait:
            let mayWait = isRunning || mistake == .sleepWithoutLooking
            if mayWait { next.change(to: .asleep, keepsNotes: true) }
            next.mayHaveSlept = mayHaveSlept || mayWait
            next.loopStep = mayWait ? .wait : .forget
        case .wait:
            next.change(to: .awake, keepsNotes: true)
            var wakesForItself = next
            wakesForItself.loopStep = .beginWait
            guard edges > 0 else { return [wakesForItself] }
            next.loopStep = .forget
            return [next, wakesForItself]
        case .ended, .waitInHandler: return []
        }
        return [next]
    }

    /// The same for a hosted loop, which never publishes that it sleeps: its host waits.
    private func hostedLoop() -> [WakeModel] {
        var next = self
        switch loopStep {
        case .forget:
            next.beginPass()
            var inHandler = next
            inHandler.loopStep = .waitInHandler
            return [next, inHandler]
        case .lookAtPosts: next.beginPass()
        case .waitInHandler:
            guard edges > 0 else { return [] }
            next.loopStep = .lookAtPosts
        case .lookAtMessages, .beginWait:  // The last fetch takes all edges.
            next.edges = 0
            next.loopStep = .endWait
        case .endWait:  // If there was a wake-up, makes the descriptor readable for another pass.
            let isAnother = word.isNotified && mistake != .sleepWithoutLooking
            if isAnother { next.edges += 1 }
            next.loopStep = isAnother ? .forget : .takeMessages
            next.change(to: whileRunning)
        case .takeMessages:  // Another pass if there are any.
            next.loopStep = hasMessages && mistake != .sleepWithMessages ? .forget : .wait
            if mistake != .sleepWithMessages { next.take(.nudges) }
        // The host may make a pass for reasons of its own.
        case .wait: next.loopStep = .forget
        case .ended: return []
        }
        return [next]
    }

    /// Whether the loop sleeps although the work of a sender that has returned waits: for ever, if the other one does
    /// nothing more.
    var isStuck: Bool {
        (loopStep == .wait || loopStep == .waitInHandler) && edges == 0
            && work.indices.contains { work[$0] && steps[$0] == .done }
    }

    /// Whether everything has ended and the eventfd is still open.
    var isLeaked: Bool { loopStep == .ended && isOpen && steps == [.done, .done] }
}

@Suite(.timeBound) struct WakeProtocolTests {
    private static let senders: [[WakeModel.Sender]] = [[.wakes, .wakes], [.wakes, .nudges], [.nudges, .nudges]]

    private struct Result {
        var states = 0
        var losesWork = false
        var isBroken = false
        var mostWrites = 0
    }

    /// Visits every reachable state.
    private func explore(
        _ mistake: WakeModel.Mistake, _ senders: [WakeModel.Sender], _ sleeper: WakeModel.Sleeper, ends: Bool = false
    ) -> Result {
        var seen: Set<WakeModel> = []
        var open = [WakeModel(senders, sleeper, mistake)]
        var result = Result()
        while let state = open.popLast() {
            guard seen.insert(state).inserted else { continue }
            result.losesWork = result.losesWork || state.isStuck
            result.isBroken = result.isBroken || state.isBroken || state.isLeaked
            result.mostWrites = max(result.mostWrites, state.writes)
            open += [state.sender(0), state.sender(1), ends ? state.loopEnds : nil].compactMap { $0 } + state.loop()
        }
        result.states = seen.count
        return result
    }

    @Test("No interleaving loses a wake-up or a nudge", arguments: senders, WakeModel.Sleeper.allCases)
    private func everyInterleaving(_ senders: [WakeModel.Sender], _ sleeper: WakeModel.Sleeper) {
        let result = explore(.none, senders, sleeper)
        #expect(result.states > 100)
        #expect(!result.losesWork)
        #expect(result.mostWrites <= 2)
    }

    @Test("The eventfd is closed once, after the last write", arguments: senders, WakeModel.Sleeper.allCases)
    private func everyEnd(_ senders: [WakeModel.Sender], _ sleeper: WakeModel.Sleeper) {
        #expect(!explore(.none, senders, sleeper, ends: true).isBroken)
    }

    @Test(
        "The explorer finds mistakes", arguments: WakeModel.Mistake.allCases.filter { $0 != .none },
        WakeModel.Sleeper.allCases)
    private func explorerFindsMistakes(_ mistake: WakeModel.Mistake, _ sleeper: WakeModel.Sleeper) {
        if mistake == .lateSenderForAHostWritesNothing, sleeper != .host { return }
        let senders = WakeProtocolTests.senders.filter { mistake != .sleepWithMessages || $0.contains(.nudges) }
        #expect(
            senders.contains {
                let result = explore(mistake, $0, sleeper, ends: mistake.concernsTheEnd)
                return mistake.concernsTheEnd ? result.isBroken : result.losesWork
            })
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
        #expect(waker.endWait())
        #expect(!waker.endWait())
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
    }

    /// A stop that comes after a pass has checked for one, and before the next begins: its wake-up would be forgotten
    /// with all others.
    @Test("The wake-up of a stop is not lost")
    func wakeUpOfAStop() throws {
        let (loop, _) = Loop.inVirtualTime()
        let entered = loop.enterRun(in: loop.defaultState, unlocking: loop.lock.hold())
        defer { loop.leaveRun(entered) }
        let run = try #require(loop.innermostRun)
        loop.wakeUp()
        loop.waker.endWait()
        #expect(loop.waker.beginWait(), "an ordinary wake-up is forgotten")
        #expect(!loop.waker.endWait())

        loop.stop()
        loop.waker.endWait()
        #expect(loop.mustLookAgain(insteadOfSleepIn: run), "a stop keeps the loop from sleeping")
    }

    /// The scheduler has stopped a sender between its note and its write.
    @Test("A sender that does not come to its write keeps no other from waking the loop", arguments: [false, true])
    func starvedSender(isHosted: Bool) throws {
        let waker = Waker()
        try waker.open()
        waker.setHosted(isHosted)
        #expect(isHosted || waker.beginWait())
        let found = waker.leave(Waker.notified)
        #expect(!System.isReadable(waker.descriptor))
        waker.wake()
        #expect(System.isReadable(waker.descriptor))
        // The write of this sleep has been made.
        waker.wake()
        waker.nudge()
        #expect(waker.writes.load(ordering: .relaxed) == 1)
        // The starved sender finds that out, in this sleep and in a later one; there a handler may run the host.
        waker.endSleep(found, Waker.notified)
        #expect(waker.endWait())
        #expect(isHosted || waker.beginWait())
        waker.endSleep(found, Waker.notified)
        let late = isHosted ? 1 : 0
        #expect(waker.writes.load(ordering: .relaxed) == 1 + late)
        waker.wake()
        #expect(waker.writes.load(ordering: .relaxed) == 2 + late, "it has not written for the sleep that goes on")
    }

    @Test("A caller waits for no sender that is stopped between its note and its write")
    func callBesideStarvedSender() throws {
        let thread = try LoopThread()
        while true {
            spin(until: thread.loop.waker.isAsleep)
            let found = thread.loop.waker.leave(Waker.notified)
            // The loop may have been woken by something else meanwhile.
            if found & 3 == 1 { break }
        }
        try thread.performAndWait {}
    }

    /// The sender has counted itself, and has not come to its write.
    @Test("Closing waits for no sender that is about to write, and the last of them closes")
    func closingBesideWriters() throws {
        let waker = Waker()
        try waker.open()
        let descriptor = waker.descriptor
        #expect(waker.beginWait())
        let found = (0..<2).map { _ in waker.leave(Waker.notified) }
        #expect(found.allSatisfy { waker.beginWriting($0) })
        waker.close()
        #expect(waker.descriptor == descriptor)
        System.signal(eventFD: descriptor)
        waker.endWriting(for: Waker.sleep(of: found[0]))
        #expect(waker.descriptor == descriptor)
        waker.endWriting(for: Waker.sleep(of: found[1]))
        #expect(waker.descriptor == -1)
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
