/// Modes in an order, nearly always one, which needs no allocation.
struct ModeList: RandomAccessCollection {
    private var firstMode: ModeState?
    /// Those after the first.
    private var others: [ModeState] = []

    init() {}

    init(_ first: ModeState?, _ others: [ModeState]) {
        firstMode = first
        self.others = others
    }

    var startIndex: Int { 0 }
    var endIndex: Int { firstMode == nil ? 0 : others.count + 1 }
    subscript(index: Int) -> ModeState { index == 0 ? firstMode! : others[index - 1] }

    func contains(_ mode: ModeState) -> Bool { firstMode === mode || others.contains { $0 === mode } }

    mutating func append(_ mode: ModeState) {
        if firstMode == nil { firstMode = mode } else { others.append(mode) }
    }

    /// Removes the mode once. Returns false if it is not there.
    mutating func remove(_ mode: ModeState) -> Bool {
        if firstMode === mode {
            firstMode = others.isEmpty ? nil : others.removeFirst()
            return true
        }
        guard let index = others.firstIndex(where: { $0 === mode }) else { return false }
        others.remove(at: index)
        return true
    }
}
