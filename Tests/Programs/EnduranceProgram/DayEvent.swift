/// What happens in the virtual day, and how often.
enum DayEvent: Int, CaseIterable {
    case tick, suspendingTimer, continuousTimer, wallClockTimer, tolerantTimer, oneShot, cancelled, timeout
    case throttle, debounce, keyedThrottle, keyedDebounce, quota, paced
    case port, message, byte, signal, source0, post, postForAnotherMode
    case nestedRun, timerOfNestedRun, observer, task, actor
    case child, timerOfAnotherLoop, postFromAnotherThread

    static let sentInAWindow = 500

    /// The periods of the timers that repeat, in nanoseconds. No call falls on a second, or on the end.
    static let periods: [DayEvent: Int] = [
        .suspendingTimer: 100_000_003, .continuousTimer: 700_000_001, .wallClockTimer: 13_000_000_007,
        .tolerantTimer: 3_000_000_011,
    ]

    func count(minutes: Int, windows: Int) -> Int {
        let seconds = minutes * 60
        switch self {
        case .tick, .keyedThrottle, .port, .byte, .source0, .post, .oneShot: return seconds
        case .suspendingTimer, .continuousTimer, .wallClockTimer, .tolerantTimer:
            // They go on for a minute and a half second.
            return ((seconds + 60) * 1_000_000_000 + 500_000_000) / DayEvent.periods[self]!
        case .cancelled: return 0
        // Those of each minute.
        case .timeout, .debounce, .nestedRun, .observer, .task, .actor: return minutes
        case .timerOfNestedRun: return 3 * minutes
        // One of each ten seconds.
        case .throttle, .signal: return seconds / 10
        // Those of the last half minute wait for a run that never comes.
        case .postForAnotherMode: return seconds / 10 - 3
        case .keyedDebounce: return seconds / 10 + 1
        // Twelve at first, and one in five seconds.
        case .quota: return 12 + (seconds - 1) / 5
        case .paced: return seconds / 2
        case .message: return seconds + windows * DayEvent.sentInAWindow
        case .child, .timerOfAnotherLoop: return windows
        case .postFromAnotherThread: return windows * DayEvent.sentInAWindow
        }
    }
}

/// What has happened. Accessed on the loop's thread, but for `windows`.
final class DayLog: @unchecked Sendable {
    private var counts = [Int](repeating: 0, count: DayEvent.allCases.count)
    var faults: [String] = []
    /// How many have been played. Accessed by the thread that plays, and when all is over.
    var windows = 0

    subscript(event: DayEvent) -> Int { counts[event.rawValue] }
    func add(_ event: DayEvent, _ count: Int = 1) { counts[event.rawValue] += count }
}
