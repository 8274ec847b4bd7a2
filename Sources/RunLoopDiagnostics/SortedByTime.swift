import RunLoopKit

extension Array {
    /// How many elements of an array in the order of time come at a time or before. Halves the array again and again.
    func count(until time: Loop.Instant, _ timeOf: (Element) -> Loop.Instant) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if timeOf(self[middle]) <= time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
