/// Holds messages back until their time, for rules in the modes `last` and `debounce`: a limiter and the settings that
/// it was made for. It keeps the last message, with its target, and nothing else.
@usableFromInline
final class DelayedMessage: Sendable {
    /// A closure, whatever is in it: so that the limiter is of one type, and the compiler knows it.
    private typealias Held = @Sendable () -> Void

    private enum Limiter {
        case throttle(Throttle<Held>)
        case debounce(Debounce<Held>)
    }

    private let limiter: Limiter
    private let nanoseconds: Int64
    private let mode: ThrottleRule.Mode
    private let loop: Loop

    init(_ settings: ThrottleRule.Settings) {
        (nanoseconds, mode, loop) = (settings.nanoseconds, settings.mode, settings.loop)
        let interval = settings.interval
        // Flushed: what a rule's end, or its loop's, finds here is not lost.
        limiter =
            if mode == .last {
                .throttle(
                    Throttle(interval: interval, edges: .trailing, on: loop, whenReleased: .flush) { held in held() })
            } else {
                .debounce(Debounce(interval: interval, on: loop, whenReleased: .flush) { held in held() })
            }
    }

    func isMade(for settings: ThrottleRule.Settings) -> Bool {
        nanoseconds == settings.nanoseconds && mode == settings.mode && loop === settings.loop
    }

    /// False when the loop has ended.
    @usableFromInline
    func hold(_ message: @escaping @Sendable () -> Void) -> Bool {
        switch limiter {
        case .throttle(let limiter): limiter(message)
        case .debounce(let limiter): limiter(message)
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
