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

    struct Entry: BitwiseCopyable {
        fileprivate(set) var token: UInt64
        /// What the kernel reported of a source that it watches; empty for others.
        let events: PollEvents
        /// The sequence number of its readiness; 0 if unknown.
        let turn: UInt64
        /// See `Report.answer`.
        let answer: UInt64
    }

    /// From `next` on those to serve. The first of them is not a gap.
    @exclusivity(unchecked) private var entries = PlainArray<Entry>()
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

    /// Whether no entry has been taken since entries came into an empty list: no handler has been called since the
    /// first was reported.
    @exclusivity(unchecked) private(set) var isFirstFresh = false

    /// Whether a sequence number is known since the list was empty.
    @exclusivity(unchecked) private var hasTurns = false

    var isEmpty: Bool { next == entries.count }

    /// The number of entries. Entries appended later have higher numbers.
    var count: Int { entries.count - next }

    /// - Parameter answer: The number of the kernel's answer that reported a source.
    func append(_ token: UInt64, events: PollEvents = [], turn: UInt64 = 0, answer: UInt64 = 0) {
        guard ReadyList.isSource(token) || noteListed(token) else { return }
        if isEmpty { isFirstFresh = true }
        if turn != 0 { hasTurns = true }
        entries.append(Entry(token: token, events: events, turn: turn, answer: answer))
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
    @inline(__always)
    func sort(from start: Int) { if hasTurns, count - start > 1 { sortSlowly(from: next + start) } }

    @inline(never)
    private func sortSlowly(from start: Int) {
        let unsorted = (start..<entries.count).map { entries[$0] }
        let turns = unsorted.reduce(into: [UInt64]()) { $0.append($1.turn == 0 ? $0.last ?? 0 : $1.turn) }
        guard !zip(turns, turns.dropFirst()).allSatisfy({ $0 <= $1 }) else { return }
        let sorted = zip(turns, unsorted).enumerated().sorted {
            ($0.element.0, $0.offset) < ($1.element.0, $1.offset)
        }
        for (index, entry) in sorted.enumerated() {
            entries[start + index] = entry.element.1
            if entry.element.1.token == ReadyList.wakeUp { wakeUpIndex = start + index }
        }
    }

    /// The sequence number of the last entry; nil if it has none.
    var lastTurn: UInt64? { isEmpty || entries[entries.count - 1].turn == 0 ? nil : entries[entries.count - 1].turn }

    /// Removes a wake-up that no pass has served. Returns whether there was one.
    @discardableResult
    func forgetWakeUp() -> Bool {
        guard let index = wakeUpIndex else { return false }
        wakeUpIndex = nil
        var entry = entries[index]
        entry.token = ReadyList.gap
        entries[index] = entry
        skipGaps()
        return true
    }

    /// The entry to serve next.
    @inline(__always)
    var first: Entry? { isEmpty ? nil : entries[next] }

    /// Called when the first entry stays: a handler may be called before it is served.
    func keepFirst() { isFirstFresh = false }

    /// - Precondition: The list is not empty.
    @inline(__always)
    func removeFirst() {
        let token = entries[next].token
        if !ReadyList.isSource(token) { noteRemoved(token) }
        next += 1
        isFirstFresh = false
        if isEmpty || next > 64 || entries[next].token == ReadyList.gap { skipGaps() }
    }

    private func noteRemoved(_ token: UInt64) {
        switch token {
        case ReadyList.wakeUp: wakeUpIndex = nil
        case ReadyList.timers: hasTimers = false
        case ReadyList.mainQueue: hasMainQueue = false
        default: break
        }
    }

    /// Restores what holds for `next`, and gives back what is before it.
    @inline(never)
    private func skipGaps() {
        while next < entries.count, entries[next].token == ReadyList.gap { next += 1 }
        if isEmpty {
            entries.removeAll(keepingCapacityUpTo: 1_024)
            next = 0
            hasTurns = false
        } else if next > 64, next > entries.count / 2 {
            entries.removeFirst(next)
            wakeUpIndex = wakeUpIndex.map { $0 - next }
            next = 0
        }
    }
}
