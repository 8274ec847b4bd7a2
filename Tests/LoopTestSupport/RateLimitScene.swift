import RunLoopKit
import Testing

/// An input and the time at which it was acted on, in milliseconds.
package struct RateLimitEntry: Equatable, CustomStringConvertible {
    package let time: Int64
    package let input: Int

    package init(_ time: Int64, _ input: Int) { (self.time, self.input) = (time, input) }

    package var description: String { "\(input)@\(time)" }
}

/// A loop in virtual time, calls at given times, and a log.
package struct RateLimitScene {
    package let loop: Loop
    package let clock: VirtualClock
    package let log = Log<RateLimitEntry>()

    package init(_ advance: VirtualClock.Advance = .automatic) { (loop, clock) = Loop.inVirtualTime(advance) }

    package var write: @Sendable (Int) -> Void {
        { [log, clock] in log.add(RateLimitEntry(clock.now.nanoseconds / 1_000_000, $0)) }
    }

    package func at(_ milliseconds: Int64, in mode: Loop.Mode = .default, _ body: @escaping @Sendable () -> Void) {
        loop.add(
            Loop.Timer(at: Loop.Instant(nanoseconds: milliseconds * 1_000_000)) { _ in body() }, in: mode)
    }

    /// Runs the loop until nothing is left to do.
    package func run() { #expect(loop.run(mode: .default, for: .seconds(1000)) == .finished) }
}
