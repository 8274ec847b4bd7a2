// Arrays and dictionaries keep the storage of all that they ever had. A loop that had many items gives it back.

extension Array {
    /// Whether most of the storage, of more than a little, is unused.
    var isSparse: Bool { capacity > 64 && count < capacity / 4 }

    /// Moves to smaller storage if most of it, of more than a little, is unused.
    mutating func giveBack() { if isSparse { self = map { $0 } } }
}

extension Dictionary {
    /// Moves to smaller storage if most of it, of more than a little, is unused.
    mutating func giveBack() {
        guard capacity > 64, count < capacity / 8 else { return }
        self = Dictionary(uniqueKeysWithValues: map { ($0.key, $0.value) })
    }
}
