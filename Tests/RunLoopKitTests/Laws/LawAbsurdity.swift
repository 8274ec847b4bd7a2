extension LawCoverage.Cell {
    /// The reason why the combination cannot exist for a kind of item; nil if it can.
    func absurdity(of kind: LawProgram.Kind) -> String? {
        operationsAbsurdity(of: kind) ?? statesAbsurdity(of: kind) ?? contextsAbsurdity(of: kind)
    }

    private func operationsAbsurdity(of kind: LawProgram.Kind) -> String? {
        switch operation {
        case _ where operation.subject != kind.subject: "it is an operation of something else"
        case .trigger where kind == .observer || kind.isTimer:
            "nothing can be sent to it; what a timer has instead is `retime`"
        case .rearm where !kind.canBeArmed, .disarm where !kind.canBeArmed: "it cannot be disarmed"
        case .changeInterest where !kind.isDescriptor: "it has no interest"
        case .takeWaiting where kind != .messagePort: "it has no messages"
        case .retime where !kind.isTimer, .setTolerance where !kind.isTimer: "it has no time"
        default: nil
        }
    }

    private func statesAbsurdity(of kind: LawProgram.Kind) -> String? {
        switch state {
        case _ where !state.isOf(kind.subject): "it is a state of something else"
        case .waiting where operation == .post: "a block is posted once"
        case .inNoMode where operation.concernsLoop, .invalid where operation.concernsLoop,
            .beingInvalidated where operation.concernsLoop:
            "an operation of a loop concerns the items in it"
        case .disarmed where !kind.canBeArmed: "it cannot be disarmed"
        case .beingInvalidated where kind != .source0: "nothing is called while it is being invalidated"
        case .inItsCallout where kind.isProcess && operation.concernsLoop:
            "a process source is invalid before its callout, and so in no mode"
        default: nil
        }
    }

    private func contextsAbsurdity(of kind: LawProgram.Kind) -> String? {
        switch context {
        case .own where operation == .post: "a block is not called before it is posted"
        case .own where operation == .withdraw && state == .waiting: "a block that runs waits no more"
        case .main where state.isInProgress: "nothing is in progress in the main script"
        case _ where state == .dropped && operation == .move && context != .own:
            "it is deallocated when it has left its modes"
        case .own where kind.isProcess && state.modes != 0 && state != .invalid:
            "a process source is invalid before its callout, and so in no mode"
        case .own where state == .withoutHandler && kind != .source0: "it has no callout without a handler"
        case .otherThread where operation == .run || operation == .endLoop: "it is for the loop's own thread"
        default: nil
        }
    }
}

extension LawProgram.Kind {
    /// Of a connection: whether it receives.
    var canBeArmed: Bool { isDescriptor || self == .messagePort || self == .connection }
}
