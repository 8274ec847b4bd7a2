/// The observers of one mode: a list for each activity, so that a pass visits only those that it calls.
struct ModeObservers {
    /// An observer, with what it is sorted by.
    struct Entry {
        /// The sequence number of the insertion: it orders observers of equal order.
        fileprivate let turn: UInt64
        fileprivate let order: Int
        /// Nil for a gap that a removed observer has left.
        fileprivate(set) var observer: Loop.Observer?

        fileprivate func isBefore(_ other: Entry) -> Bool {
            order == other.order ? turn < other.turn : order < other.order
        }
    }

    /// The observers of one activity, in the order in which they are called.
    private struct List {
        private(set) var entries: [Entry] = []
        private var gaps = 0

        var isEmpty: Bool { gaps == entries.count }

        mutating func insert(_ entry: Entry) {
            let index = index(of: entry)
            if index == entries.count { entries.append(entry) } else { entries.insert(entry, at: index) }
        }

        mutating func remove(_ entry: Entry) {
            // Those that come last often go first. The search took half of an observer's life among 1,000 others.
            if entries[entries.count - 1].turn == entry.turn {
                entries.removeLast()
            } else {
                entries[index(of: entry)].observer = nil
                gaps += 1
            }
            guard gaps > entries.count / 2 || entries.isSparse else { return }
            entries.removeAll { $0.observer == nil }
            gaps = 0
            entries.giveBack()
        }

        /// Where the entry is or, if it is not here, belongs. Most are added at the end.
        private func index(of entry: Entry) -> Int {
            guard !entries.isEmpty, !entries[entries.count - 1].isBefore(entry) else { return entries.count }
            var (low, high) = (0, entries.count - 1)
            while low < high {
                let middle = (low + high) / 2
                if entries[middle].isBefore(entry) { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    /// One for each bit of an activity that exists, by the number of the bit.
    private var lists = [List](repeating: List(), count: 8)

    private var entries: [ObjectIdentifier: Entry] = [:]

    private var lastTurn: UInt64 = 0

    /// The union of the activities of all observers.
    private(set) var wanted: Loop.Activity = []

    /// All observers, in the order in which they are called.
    var all: [Loop.Observer] { entries.values.sorted { $0.isBefore($1) }.compactMap(\.observer) }

    /// The observers of one activity, in the order in which they are called, with gaps.
    func entries(for activity: Loop.Activity) -> [Entry] { lists[activity.rawValue.trailingZeroBitCount].entries }

    /// The observer of an activity that has only one, as most have; nil if it has several. Without the array of
    /// `entries`, an observed pass takes 731 instructions instead of 797.
    func only(at activity: Loop.Activity) -> Loop.Observer? {
        let list = activity.rawValue.trailingZeroBitCount
        return lists[list].entries.count == 1 ? lists[list].entries[0].observer : nil
    }

    /// - Precondition: The observer is not here.
    mutating func insert(_ observer: Loop.Observer) {
        lastTurn += 1
        let entry = Entry(turn: lastTurn, order: observer.order, observer: observer)
        entries[ObjectIdentifier(observer)] = entry
        forEachList(of: observer) { $0.insert(entry) }
    }

    mutating func remove(_ observer: Loop.Observer) {
        guard let entry = entries.removeValue(forKey: ObjectIdentifier(observer)) else { return }
        entries.giveBack()
        forEachList(of: observer) { $0.remove(entry) }
    }

    private mutating func forEachList(of observer: Loop.Observer, _ body: (inout List) -> Void) {
        for index in lists.indices {
            let activity = Loop.Activity(rawValue: 1 << UInt(index))
            guard observer.activities.contains(activity) else { continue }
            body(&lists[index])
            if lists[index].isEmpty { wanted.remove(activity) } else { wanted.insert(activity) }
        }
    }
}
