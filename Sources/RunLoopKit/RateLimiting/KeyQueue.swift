/// Keys with the times at which somebody has to look at them, the earliest first: a binary heap. A key may be in it
/// more than once.
struct KeyQueue<Key> {
    struct Entry {
        let time: Int64
        let key: Key
    }

    private var entries: [Entry] = []

    var count: Int { entries.count }

    var first: Entry? { entries.first }

    mutating func add(_ key: Key, at time: Int64) {
        entries.append(Entry(time: time, key: key))
        var index = entries.count - 1
        while index > 0, entries[index].time < entries[(index - 1) / 2].time {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func removeFirst() {
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var index = 0
        while let child = earlierChild(of: index), entries[child].time < entries[index].time {
            entries.swapAt(index, child)
            index = child
        }
        if entries.capacity > 64, entries.count < entries.capacity / 8 { entries = entries.map { $0 } }
    }

    private func earlierChild(of index: Int) -> Int? {
        let (left, right) = (2 * index + 1, 2 * index + 2)
        guard left < entries.count else { return nil }
        return right < entries.count && entries[right].time < entries[left].time ? right : left
    }
}
