/// The room of an array that is filled and emptied again and again. A nested use finds none, and makes its own.
struct KeptRoom<Element> {
    private var room: [Element] = []

    /// An empty array.
    mutating func take() -> [Element] { exchange(&room, with: []) }

    /// Empties the array, and keeps its room for the next use unless that is large.
    mutating func giveBack(_ array: inout [Element]) {
        guard array.capacity <= 64 else { return array = [] }
        array.removeAll(keepingCapacity: true)
        swap(&room, &array)
    }
}
