// Arrays and dictionaries keep their largest storage. A loop that had many items gives it back.

extension Array {
    /// Whether the storage is more than small, and most of it unused.
    var isSparse: Bool { capacity > 64 && count < capacity / 4 }

    /// Moves to smaller storage if `isSparse`.
    mutating func giveBack() { if isSparse { self = map { $0 } } }
}

extension Dictionary {
    /// Moves to smaller storage if it is more than small, and most of it unused.
    mutating func giveBack() {
        guard capacity > 64, count < capacity / 8 else { return }
        self = Dictionary(uniqueKeysWithValues: map { ($0.key, $0.value) })
    }
}
