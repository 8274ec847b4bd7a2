/// Modes in an order: nearly always one, which needs no allocation. Eight bytes.
struct ModeList: RandomAccessCollection {
    private enum Modes {
        case none
        case one(ModeState)
        case many([ModeState])
    }

    private var modes = Modes.none

    var startIndex: Int { 0 }

    var endIndex: Int {
        switch modes {
        case .none: 0
        case .one: 1
        case .many(let all): all.count
        }
    }

    subscript(index: Int) -> ModeState {
        switch modes {
        case .none: preconditionFailure("The list is empty.")
        case .one(let mode): mode
        case .many(let all): all[index]
        }
    }

    func contains(_ mode: ModeState) -> Bool {
        switch modes {
        case .none: false
        case .one(let only): only === mode
        case .many(let all): all.contains { $0 === mode }
        }
    }

    mutating func append(_ mode: ModeState) {
        switch modes {
        case .none: modes = .one(mode)
        case .one(let only): modes = .many([only, mode])
        case .many(var all):
            // Taken out first: a second reference would copy the array.
            modes = .none
            all.append(mode)
            modes = .many(all)
        }
    }

    /// Removes the mode once. Returns false if it is not there.
    mutating func remove(_ mode: ModeState) -> Bool {
        switch modes {
        case .none: return false
        case .one(let only):
            guard only === mode else { return false }
            modes = .none
        case .many(var all):
            guard let index = all.firstIndex(where: { $0 === mode }) else { return false }
            modes = .none
            all.remove(at: index)
            modes = all.isEmpty ? .none : .many(all)
        }
        return true
    }
}
