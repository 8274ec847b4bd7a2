/// Modes in an order, nearly always one, or `common` and a common mode: that many need no allocation.
struct ModeList: RandomAccessCollection {
    private(set) var first: ModeState?
    /// Nil if the first is.
    private var second: ModeState?
    /// Those after the second. Empty if that is nil.
    private var others: [ModeState] = []

    init() {}

    init(_ first: ModeState?, _ second: ModeState?, _ others: [ModeState]) {
        (self.first, self.second, self.others) = (first, second, others)
    }

    var startIndex: Int { 0 }
    var endIndex: Int { first == nil ? 0 : second == nil ? 1 : others.count + 2 }
    subscript(index: Int) -> ModeState { index == 0 ? first! : index == 1 ? second! : others[index - 2] }

    mutating func append(_ mode: ModeState) {
        if first == nil { first = mode } else if second == nil { second = mode } else { others.append(mode) }
    }

    /// Removes the mode once. Returns false if it is not there.
    mutating func remove(_ mode: ModeState) -> Bool {
        if first === mode {
            first = second
            second = others.isEmpty ? nil : others.removeFirst()
        } else if second === mode {
            second = others.isEmpty ? nil : others.removeFirst()
        } else {
            guard let index = others.firstIndex(where: { $0 === mode }) else { return false }
            others.remove(at: index)
        }
        return true
    }
}
