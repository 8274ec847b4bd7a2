extension LawProgram {
    /// What an operation finds of the item. An item is in one number of modes, and may be in other states too.
    enum State: String, CaseIterable {
        case inNoMode, inOneMode, inTwoModes, inMoreModes
        case disarmed, withoutHandler, invalid
        /// Only a loop, or a callout in progress, has it.
        case dropped
        case inItsCallout, beingInvalidated
        // Of a block, or a limiter's call.
        case waiting, notWaiting
        // Of the quota of a key: it lacks nothing, has tokens, has none, or owes some.
        case full, used, exhausted, owing

        init(modes: Int) {
            switch modes {
            case 0: self = .inNoMode
            case 1: self = .inOneMode
            case 2: self = .inTwoModes
            default: self = .inMoreModes
            }
        }

        /// Nil if the state does not say it.
        var modes: Int? {
            switch self {
            case .inNoMode: 0
            case .inOneMode: 1
            case .inTwoModes: 2
            case .inMoreModes: 3
            default: nil
            }
        }

        var isOfItem: Bool { isOf(.item) }

        func isOf(_ subject: Subject) -> Bool {
            switch self {
            case .waiting, .notWaiting: subject == .block || subject == .limiter
            case .full, .used, .exhausted, .owing: subject == .quota
            default: subject == .item
            }
        }

        /// Whether it lasts only as long as a callout, or an invalidation, of the item.
        var isInProgress: Bool { self == .inItsCallout || self == .beingInvalidated }
    }
}

extension LawItem {
    /// The item's states at this moment.
    var states: [LawProgram.State] {
        var states = [LawProgram.State(modes: places.count)]
        if kind.canBeArmed, !isArmed { states.append(.disarmed) }
        if !hasHandler { states.append(.withoutHandler) }
        if !isValid { states.append(.invalid) }
        if isDropped { states.append(.dropped) }
        if callsInProgress > 0 { states.append(.inItsCallout) }
        if invalidationsInProgress > 0 { states.append(.beingInvalidated) }
        return states
    }

    private var isDropped: Bool { reference == nil && remains != nil }
}
