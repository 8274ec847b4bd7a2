/// How long a supervisor waits before it starts a program again: twice as long each time, up to a limit.
public struct BackOff: Sendable {
    private let first: Duration
    private let longest: Duration
    private let healthy: Duration
    private var next: Duration

    /// - Parameters:
    ///   - first: The first delay.
    ///   - longest: The limit of delays.
    ///   - healthy: After a run that lasted that long, delays begin again with the first one.
    public init(first: Duration = .seconds(1), longest: Duration = .seconds(60), healthy: Duration = .seconds(10)) {
        self.first = first
        self.longest = longest
        self.healthy = healthy
        next = first
    }

    /// The delay after a run of the program.
    public mutating func delay(afterRunOf duration: Duration) -> Duration {
        if duration >= healthy { next = first }
        defer { next = min(next * 2, longest) }
        return next
    }
}
