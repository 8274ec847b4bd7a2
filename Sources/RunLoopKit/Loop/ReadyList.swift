/// What is ready in a mode and no pass has served yet, oldest first.
///
/// It belongs to the mode, not to a run: it survives nested runs, the end of a run, and a stop, and is served first
/// when the mode runs again. Only the loop's thread accesses it, through `ModeState.ready`, which asserts the thread.
final class ReadyList {
    /// A thread woke the loop.
    static let wakeUp = UInt64.max
    /// A timer may be due.
    static let timers = UInt64.max - 1
    /// Jobs have arrived in the main dispatch queue.
    static let mainQueue = UInt64.max - 2
    /// A timer on the continuous clock may be due. A token of the poller only; listed as `timers`.
    static let continuousTimers = UInt64.max - 3
    /// The same for the wall clock, or that clock was set.
    static let wallClockTimers = UInt64.max - 4
    /// What an entry that was removed leaves behind.
    private static let gap = UInt64.max - 5

    /// Whether a token is a source's, and none of the loop's own.
    static func isSource(_ token: UInt64) -> Bool { token < gap }

    struct Entry {
        fileprivate(set) var token: UInt64
        /// What the kernel reported of a source that it watches; empty for others.
        let events: PollEvents
        /// The sequence number of its readiness; nil if unknown.
        let turn: UInt64?
        /// Whether no handler has been called since the report. An older report may no longer hold.
        fileprivate(set) var isFresh = false

        /// An entry whose source another handler may have served since it was reported.
        static func old(_ token: UInt64, _ events: PollEvents) -> Entry {
            Entry(token: token, events: events, turn: nil)
        }

        /// An entry whose source the kernel has just reported.
        static func fresh(_ token: UInt64, _ events: PollEvents) -> Entry {
            Entry(token: token, events: events, turn: nil, isFresh: true)
        }
    }

    /// From `next` on those to serve. The first of them is not a gap.
    @exclusivity(unchecked) private var entries: [Entry] = []
    @exclusivity(unchecked) private var next = 0

    /// The index of the wake-up, if one is listed.
    @exclusivity(unchecked) private var wakeUpIndex: Int?

    /// Whether the mode is among those in which wake-ups are forgotten when the next outermost run begins.
    @exclusivity(unchecked) var isKnownToHaveWakeUp = false

    @exclusivity(unchecked) private var hasTimers = false
    @exclusivity(unchecked) private var hasMainQueue = false

    /// When `timers` was last listed: that entry means the timers that were due then. Timers that became due later are
    /// listed again, or they would overtake entries listed in between.
    @exclusivity(unchecked) private(set) var timesOfTimers = ClockTimes(suspending: .min)

    /// Whether no entry has been taken since entries came into an empty list.
    @exclusivity(unchecked) private var isHeadFresh = false

    var isEmpty: Bool { next == entries.count }

    /// The number of entries. Entries appended later have higher numbers.
    var count: Int { entries.count - next }

    func append(_ token: UInt64, events: PollEvents = [], turn: UInt64? = nil) {
        guard noteListed(token) else { return }
        if isEmpty { isHeadFresh = true }
        entries.append(Entry(token: token, events: events, turn: turn))
    }

    func appendTimers(dueAt times: ClockTimes) {
        guard !hasTimers else { return }
        timesOfTimers = times
        append(ReadyList.timers)
    }

    /// Lists each of the loop's own tokens once: a second entry would cost a needless pass. Returns false if the token
    /// is listed already.
    private func noteListed(_ token: UInt64) -> Bool {
        switch token {
        case ReadyList.wakeUp:
            guard wakeUpIndex == nil else { return false }
            wakeUpIndex = entries.count
        case ReadyList.timers:
            guard !hasTimers else { return false }
            hasTimers = true
        case ReadyList.mainQueue:
            guard !hasMainQueue else { return false }
            hasMainQueue = true
        default: break
        }
        return true
    }

    /// Sorts the entries from number `start` on by sequence number. An entry without one stays behind its predecessor.
    func sort(from start: Int) {
        guard count - start > 1 else { return }
        let unsorted = entries[(next + start)...]
        let turns = unsorted.reduce(into: [UInt64]()) { $0.append($1.turn ?? $0.last ?? 0) }
        guard !zip(turns, turns.dropFirst()).allSatisfy({ $0 <= $1 }) else { return }
        let sorted = zip(turns, unsorted).enumerated().sorted {
            ($0.element.0, $0.offset) < ($1.element.0, $1.offset)
        }
        entries.replaceSubrange((next + start)..., with: sorted.map(\.element.1))
        if wakeUpIndex != nil { wakeUpIndex = entries.lastIndex { $0.token == ReadyList.wakeUp } }
    }

    /// The sequence number of the last entry; nil if it has none.
    var lastTurn: UInt64? { isEmpty ? nil : entries.last?.turn }

    /// Removes a wake-up that no pass has served. Returns whether there was one.
    @discardableResult
    func forgetWakeUp() -> Bool {
        guard let index = wakeUpIndex else { return false }
        wakeUpIndex = nil
        entries[index].token = ReadyList.gap
        skipGaps()
        return true
    }

    /// The entry to serve next.
    var first: Entry? {
        guard !isEmpty else { return nil }
        var entry = entries[next]
        entry.isFresh = isHeadFresh
        return entry
    }

    /// Called when the first entry stays: a handler may be called before it is served.
    func keepFirst() { isHeadFresh = false }

    func popFirst() -> Entry? {
        guard let first else { return nil }
        switch first.token {
        case ReadyList.wakeUp: wakeUpIndex = nil
        case ReadyList.timers: hasTimers = false
        case ReadyList.mainQueue: hasMainQueue = false
        default: break
        }
        next += 1
        isHeadFresh = false
        skipGaps()
        return first
    }

    /// Restores what holds for `next`, and gives back what is before it.
    private func skipGaps() {
        while next < entries.count, entries[next].token == ReadyList.gap { next += 1 }
        if isEmpty {
            // One by one: `removeAll(keepingCapacity:)` takes 80 instructions, and there is mostly one.
            if entries.capacity > 1_024 { entries = [] } else { while !entries.isEmpty { entries.removeLast() } }
            next = 0
        } else if next > 64, next > entries.count / 2 {
            entries.removeFirst(next)
            wakeUpIndex = wakeUpIndex.map { $0 - next }
            next = 0
        }
    }
}
