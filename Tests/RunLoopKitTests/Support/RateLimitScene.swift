import RunLoopKit
import Testing

/// An input and the time at which it was acted on, in milliseconds.
struct RateLimitEntry: Equatable, CustomStringConvertible {
    let time: Int64
    let input: Int

    init(_ time: Int64, _ input: Int) { (self.time, self.input) = (time, input) }

    var description: String { "\(input)@\(time)" }
}

/// A loop in virtual time, calls at given times, and a log.
struct RateLimitScene {
    let loop: Loop
    let clock: VirtualClock
    let log = Log<RateLimitEntry>()

    init(_ advance: VirtualClock.Advance = .automatic) { (loop, clock) = Loop.inVirtualTime(advance) }

    var write: @Sendable (Int) -> Void {
        { [log, clock] in log.add(RateLimitEntry(clock.now.nanoseconds / 1_000_000, $0)) }
    }

    func at(_ milliseconds: Int64, in mode: Loop.Mode = .default, _ body: @escaping @Sendable () -> Void) {
        loop.add(
            Loop.Timer(at: Loop.Instant(nanoseconds: milliseconds * 1_000_000)) { _ in body() }, in: mode)
    }

    /// Runs the loop until nothing is left to do.
    func run() { #expect(loop.run(mode: .default, for: .seconds(1000)) == .finished) }
}
