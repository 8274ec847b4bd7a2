import Testing

/// The protocol of `SignalListening.h`, step by step, in every interleaving of two handlers and the thread that removes
/// and frees a listener.
private struct SignalModel: Hashable {
    /// Mistakes in the protocol, which the explorer must find.
    enum Mistake: CaseIterable {
        case none, looksBeforeRemoving, freesWithoutLooking
        case readsListBeforeCounting, leavesBeforeWriting, countsOnlyOnce
    }

    private enum HandlerStep: Hashable { case enter, readList, write, leave, done }
    private enum OwnerStep: Hashable { case remove, look, later, done }

    private let mistake: Mistake
    private var isListed = true
    private(set) var isFree = false
    private var inside = 0
    private var handlers: [HandlerStep]
    private var sees = [false, false]
    private var owner: OwnerStep
    private var foundNone = false

    /// A write to a pipe that has been closed.
    private(set) var isBroken = false

    init(_ mistake: Mistake) {
        self.mistake = mistake
        owner = mistake == .looksBeforeRemoving ? .look : .remove
        handlers = Array(repeating: mistake == .readsListBeforeCounting ? .readList : .enter, count: 2)
    }

    /// The states that follow when handler `index` takes a step.
    func handler(_ index: Int) -> SignalModel? {
        var next = self
        switch handlers[index] {
        case .enter:
            next.inside = mistake == .countsOnlyOnce ? 1 : inside + 1
            next.handlers[index] = mistake == .readsListBeforeCounting ? .write : .readList
        case .readList:
            next.sees[index] = isListed
            next.handlers[index] =
                mistake == .readsListBeforeCounting ? .enter : mistake == .leavesBeforeWriting ? .leave : .write
        case .write:
            next.isBroken = isBroken || (sees[index] && isFree)
            next.handlers[index] = mistake == .leavesBeforeWriting ? .done : .leave
        case .leave:
            next.inside = max(0, inside - 1)
            next.handlers[index] = mistake == .leavesBeforeWriting ? .write : .done
        case .done: return nil
        }
        return next
    }

    /// The state that follows when the owner takes a step. A listener that is seen is freed by a later call.
    func ownersStep() -> SignalModel? {
        var next = self
        switch owner {
        case .remove:
            next.isListed = false
            next.owner = .look
            if mistake == .looksBeforeRemoving {
                next.isFree = foundNone
                next.owner = foundNone ? .done : .later
            }
        case .look:
            next.foundNone = inside == 0 || mistake == .freesWithoutLooking
            if mistake == .looksBeforeRemoving {
                next.owner = .remove
            } else {
                next.isFree = next.foundNone
                next.owner = next.foundNone ? .done : .later
            }
        case .later:
            guard inside == 0 else { return nil }
            next.isFree = true
            next.owner = .done
        case .done: return nil
        }
        return next
    }

    var successors: [SignalModel] { [handler(0), handler(1), ownersStep()].compactMap { $0 } }
}

@Suite(.timeBound) struct SignalProtocolTests {
    /// All states that can be reached, and those in which nobody can go on.
    private func explore(_ mistake: SignalModel.Mistake) -> (states: Int, isBroken: Bool, endsFree: Bool) {
        var known: Set<SignalModel> = [SignalModel(mistake)]
        var open = Array(known)
        var (isBroken, endsFree) = (false, true)
        while let state = open.popLast() {
            isBroken = isBroken || state.isBroken
            if state.successors.isEmpty, !state.isFree { endsFree = false }
            for next in state.successors where known.insert(next).inserted { open.append(next) }
        }
        return (known.count, isBroken, endsFree)
    }

    @Test("No handler writes into a pipe that is closed, and every pipe is closed")
    func protocolHolds() {
        let found = explore(.none)
        #expect(!found.isBroken && found.endsFree && found.states > 50, "\(found.states) states")
    }

    @Test("The model finds each mistake", arguments: SignalModel.Mistake.allCases.filter { $0 != .none })
    private func mistakes(_ mistake: SignalModel.Mistake) { #expect(explore(mistake).isBroken) }
}
