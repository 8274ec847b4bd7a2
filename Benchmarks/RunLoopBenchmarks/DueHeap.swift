/// Numbered timers by the times that they are due at, in a binary heap: the least that timers take.
struct DueHeap {
    typealias Entry = (due: Int64, timer: Int)

    private var entries: [Entry] = []

    var first: Entry? { entries.first }

    mutating func insert(_ timer: Int, due: Int64) {
        var place = entries.count
        entries.append((due, timer))
        while place > 0 {
            let parent = (place - 1) / 2
            if entries[parent].due <= due { break }
            entries[place] = entries[parent]
            place = parent
        }
        entries[place] = (due, timer)
    }

    /// - Precondition: Not empty.
    mutating func removeFirst() {
        let last = entries.removeLast()
        guard !entries.isEmpty else { return }
        var place = 0
        while true {
            var child = 2 * place + 1
            if child >= entries.count { break }
            if child + 1 < entries.count, entries[child + 1].due < entries[child].due { child += 1 }
            if last.due <= entries[child].due { break }
            entries[place] = entries[child]
            place = child
        }
        entries[place] = last
    }
}
