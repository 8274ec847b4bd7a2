import TestSupport
import Testing

/// The protocol of `MainQueue`, step by step, in every interleaving of the main loop and two threads that post.
///
/// The eventfd is watched by the edge-triggered set of the mode, in which the loop sleeps, and by a set of the queue's
/// own. A write tells the one and then the other, in an order that nobody knows. The explorer searches for a state in
/// which nobody can go on and a job waits.
private struct MainQueueModel: Hashable {
    /// Mistakes in the protocol, which the explorer must find.
    enum Mistake: CaseIterable {
        case none, answersAnEdgeByTheOwnSet, asksTheOwnSetAfterPassingOver, forgetsWhatItPassedOver, readsAfterDraining
    }

    private enum PosterStep: Hashable { case push, write, tellFirst, tellSecond, done }
    private enum LoopStep: Hashable { case askOwnSet, sleep, answer, read, drain, readLate }

    private let mistake: Mistake
    private let tellsOwnSetFirst: Bool

    // The queue.
    private var jobs = 0
    private var posters: [PosterStep] = [.push, .push]

    // The kernel.
    private var isReadable = false
    private var hasEdge = false
    private var ownSetKnows = false

    // The loop.
    private var loop = LoopStep.askOwnSet
    private var hasPassedOver = false
    /// Whether a nested run goes on, inside a job, in which the queue is not served.
    private var isNested = false
    private var mayNest = true
    /// Whether something else may wake the loop: it ends the nested run, or begins the next pass.
    private var otherEvents = 2

    init(_ mistake: Mistake, tellsOwnSetFirst: Bool) {
        (self.mistake, self.tellsOwnSetFirst) = (mistake, tellsOwnSetFirst)
    }

    var hasJobs: Bool { jobs > 0 }

    var successors: [MainQueueModel] { [poster(0), poster(1), loopsStep()].compactMap { $0 } + otherSteps }

    /// libdispatch writes when a job comes into an empty queue.
    private func poster(_ index: Int) -> MainQueueModel? {
        var next = self
        switch posters[index] {
        case .push:
            next.posters[index] = jobs == 0 ? .write : .done
            next.jobs += 1
        case .write:
            next.isReadable = true
            next.posters[index] = .tellFirst
        case .tellFirst:
            if tellsOwnSetFirst { next.ownSetKnows = true } else { next.hasEdge = true }
            next.posters[index] = .tellSecond
        case .tellSecond:
            if tellsOwnSetFirst { next.hasEdge = true } else { next.ownSetKnows = true }
            next.posters[index] = .done
        case .done: return nil
        }
        return next
    }

    /// What the own set answers: level-triggered, but it looks at the eventfd only when it was told.
    private mutating func askOwnSet() -> Bool {
        ownSetKnows = ownSetKnows && isReadable
        return ownSetKnows
    }

    private func loopsStep() -> MainQueueModel? {
        var next = self
        switch loop {
        case .askOwnSet: next.loop = next.askOwnSet() ? .read : .sleep
        case .sleep:
            if hasPassedOver, !isNested {
                next.hasPassedOver = false
                let isReady = mistake == .asksTheOwnSetAfterPassingOver ? next.askOwnSet() : isReadable
                next.loop = isReady ? .read : .sleep
            } else {
                guard hasEdge else { return nil }
                next.hasEdge = false
                next.loop = .answer
            }
        case .answer:
            if isNested {
                next.hasPassedOver = mistake != .forgetsWhatItPassedOver
                next.loop = .sleep
            } else {
                next.loop = mistake != .answersAnEdgeByTheOwnSet || next.askOwnSet() ? .read : .sleep
            }
        case .read:
            next.loop = isReadable ? .drain : .sleep
            if mistake != .readsAfterDraining { next.isReadable = false }
        case .drain:
            next.jobs = 0
            next.loop = mistake == .readsAfterDraining ? .readLate : .sleep
        case .readLate:
            next.isReadable = false
            next.loop = .sleep
        }
        return next
    }

    /// A nested run begins in a job, or something else ends a sleep.
    private var otherSteps: [MainQueueModel] {
        guard loop == .sleep else { return [] }
        var steps: [MainQueueModel] = []
        if mayNest {
            var next = self
            (next.mayNest, next.isNested) = (false, true)
            steps.append(next)
        }
        if isNested || otherEvents > 0 {
            var next = self
            if isNested { next.isNested = false } else { next.otherEvents -= 1 }
            next.loop = isNested ? .sleep : .askOwnSet
            steps.append(next)
        }
        return steps
    }
}

@Suite(.timeBound) struct MainQueueProtocolTests {
    /// The number of states that can be reached, and of those in which nobody can go on although a job waits.
    private func explore(_ mistake: MainQueueModel.Mistake, _ tellsOwnSetFirst: Bool) -> (states: Int, lost: Int) {
        var known: Set<MainQueueModel> = [MainQueueModel(mistake, tellsOwnSetFirst: tellsOwnSetFirst)]
        var open = Array(known)
        var lost = 0
        while let state = open.popLast() {
            let successors = state.successors
            if successors.isEmpty, state.hasJobs { lost += 1 }
            for next in successors where known.insert(next).inserted { open.append(next) }
        }
        return (known.count, lost)
    }

    @Test("No job of the main queue is lost, whichever epoll set is told first", arguments: [false, true])
    func protocolHolds(tellsOwnSetFirst: Bool) {
        let found = explore(.none, tellsOwnSetFirst)
        #expect(found.lost == 0 && found.states > 500, "\(found)")
    }

    @Test("The model finds each mistake", arguments: MainQueueModel.Mistake.allCases.filter { $0 != .none })
    private func mistakes(_ mistake: MainQueueModel.Mistake) {
        #expect(explore(mistake, false).lost + explore(mistake, true).lost > 0)
    }
}
