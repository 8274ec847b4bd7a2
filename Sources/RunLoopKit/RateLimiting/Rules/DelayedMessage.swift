/// Holds messages back until their time, for rules in the modes `last` and `debounce`: a limiter and the settings that
/// it was made for. It keeps the last message, with its target, and nothing else.
final class DelayedMessage<Target: Sendable, Input: Sendable>: Flushable {
    private struct Held: Sendable {
        let target: Target
        let input: Input
    }

    private enum Limiter {
        case throttle(Throttle<Held>)
        case debounce(Debounce<Held>)
    }

    private let limiter: Limiter
    private let interval: Duration
    private let mode: ThrottleRule.Mode
    private let loop: Loop

    init(_ settings: ThrottleRule.Settings, _ body: @escaping @Sendable (Target, Input) -> Void) {
        (interval, mode, loop) = (settings.interval, settings.mode, settings.loop)
        // Flushed: what a rule's end, or its loop's, finds here is not lost.
        limiter =
            if mode == .last {
                .throttle(
                    Throttle(interval: interval, edges: .trailing, on: loop, whenReleased: .flush) {
                        body($0.target, $0.input)
                    })
            } else {
                .debounce(Debounce(interval: interval, on: loop, whenReleased: .flush) { body($0.target, $0.input) })
            }
    }

    func isMade(for settings: ThrottleRule.Settings) -> Bool {
        interval == settings.interval && mode == settings.mode && loop === settings.loop
    }

    /// False when the loop has ended.
    func callAsFunction(_ target: Target, _ input: Input) -> Bool {
        let held = Held(target: target, input: input)
        return switch limiter {
        case .throttle(let limiter): limiter(held)
        case .debounce(let limiter): limiter(held)
        }
    }

    func flush() {
        switch limiter {
        case .throttle(let limiter): limiter.flush()
        case .debounce(let limiter): limiter.flush()
        }
    }

    func cancel() {
        switch limiter {
        case .throttle(let limiter): limiter.cancel()
        case .debounce(let limiter): limiter.cancel()
        }
    }
}

/// Has something that can be run earlier than planned.
protocol Flushable: AnyObject, Sendable {
    /// Runs it now, on the loop's thread. To be called without a lock.
    func flush()
}
