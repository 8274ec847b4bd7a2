/// The scenarios by their names.
enum ScenarioName: String, CaseIterable {
    case day, threads, posts, messages, timers, ports, signals

    var summary: String {
        switch self {
        case .day: "24 virtual hours of a program that uses every kind of item."
        case .threads: "100,000 threads with loops begin and end, up to eight at a time."
        case .posts: "10,000,000 blocks, posted by two threads."
        case .messages: "10,000,000 messages, sent by two threads."
        case .timers: "10,000,000 timers, added by two threads: nine of ten are cancelled."
        case .ports: "10,000,000 sends to a port, by two threads."
        case .signals: "10,000,000 real-time signals, raised by two threads."
        }
    }

    /// A share of it. Each window of the day has a second at least.
    func make(_ share: Double, windows: Int) -> any Scenario {
        let flood = max(1, Int(10_000_000 * share))
        return switch self {
        case .day: Day(minutes: max((windows + 59) / 60, Int(1_440 * share)))
        case .threads: ThreadLives(count: max(1, Int(100_000 * share)))
        case .posts: Flood(flood) { Posts($0) }
        case .messages: Flood(flood) { Messages($0) }
        case .timers: Flood(flood) { Timers($0) }
        case .ports: Flood(flood) { Ports($0) }
        case .signals: Flood(flood) { Signals($0) }
        }
    }
}
