/// What the kernel reported ready in a mode and no pass has served yet, oldest first.
///
/// It belongs to the mode, not to a run: it survives nested runs, the end of a run and a stop, and is served first when
/// the mode runs again. Touched by the loop's thread only.
struct ReadyList {
    /// Somebody woke the loop.
    static let wakeUp = UInt64.max
    /// A timer may be due.
    static let timers = UInt64.max - 1
    /// Jobs have arrived in the main dispatch queue.
    static let mainQueue = UInt64.max - 2
    /// A timer on the continuous clock may be due. Of the poller's tokens only: listed as `timers`.
    static let continuousTimers = UInt64.max - 3

    struct Entry {
        let token: UInt64
        /// What the kernel reported; nothing for what it was not asked about.
        let events: PollEvents
        /// The turn in which it became ready; nil for what does not know.
        let turn: UInt64?
        /// Whether the report was the last thing that happened: an older one may have become untrue.
        fileprivate(set) var isFresh = false

        /// For what somebody may have dealt with since it was reported.
        static func old(_ token: UInt64, _ events: PollEvents) -> Entry {
            Entry(token: token, events: events, turn: nil)
        }
    }

    private var entries: [Entry] = []
    private var next = 0

    /// When `timers` was listed last: it stands for the timers that were due then. Those that have become due since
    /// line up anew, or they would pass what is listed between.
    private(set) var timesOfTimers = ClockTimes(suspending: .min, continuous: .min)

    /// Whether nothing has been taken since entries came into an empty list.
    private var isHeadFresh = false

    var isEmpty: Bool { next == entries.count }

    /// How many there are; those that come next have higher numbers.
    var count: Int { entries.count - next }

    mutating func append(_ token: UInt64, events: PollEvents = [], turn: UInt64? = nil) {
        // One entry for each of the loop's own: two would cost a pass for nothing.
        if token >= ReadyList.mainQueue, entries[next...].contains(where: { $0.token == token }) { return }
        if isEmpty { isHeadFresh = true }
        entries.append(Entry(token: token, events: events, turn: turn))
    }

    mutating func appendTimers(dueAt times: ClockTimes) {
        guard isEmpty || !entries[next...].contains(where: { $0.token == ReadyList.timers }) else { return }
        timesOfTimers = times
        append(ReadyList.timers)
    }

    /// Puts the entries from number `start` on in the order of their turns. What has none stays behind what it came
    /// behind.
    mutating func sort(from start: Int) {
        guard count - start > 1 else { return }
        let unsorted = entries[(next + start)...]
        let turns = unsorted.reduce(into: [UInt64]()) { $0.append($1.turn ?? $0.last ?? 0) }
        guard !zip(turns, turns.dropFirst()).allSatisfy({ $0 <= $1 }) else { return }
        let sorted = zip(turns, unsorted).enumerated().sorted {
            ($0.element.0, $0.offset) < ($1.element.0, $1.offset)
        }
        entries.replaceSubrange((next + start)..., with: sorted.map(\.element.1))
    }

    /// The turn of the last one; nil when it has none.
    var lastTurn: UInt64? { isEmpty ? nil : entries.last?.turn }

    /// Forgets a wake-up that no pass has got to. Says whether there was one.
    @discardableResult
    mutating func forgetWakeUp() -> Bool {
        guard !isEmpty else { return false }
        entries.removeSubrange(..<next)
        next = 0
        let before = entries.count
        entries.removeAll { $0.token == ReadyList.wakeUp }
        return entries.count < before
    }

    /// The entry that is to be served next.
    var first: Entry? {
        guard !isEmpty else { return nil }
        var entry = entries[next]
        entry.isFresh = isHeadFresh
        return entry
    }

    /// To be called when the first entry stays: who knows when it is going to be served.
    mutating func keepFirst() { isHeadFresh = false }

    mutating func popFirst() -> Entry? {
        guard let first else { return nil }
        defer {
            next += 1
            isHeadFresh = false
            if next == entries.count {
                entries.removeAll(keepingCapacity: true)
                next = 0
            }
        }
        return first
    }
}
