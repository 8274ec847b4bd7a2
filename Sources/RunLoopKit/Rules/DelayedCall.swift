/// Holds messages back until their time, for rules that do not merge: keeps the last message, with its target, and
/// nothing else.
@usableFromInline
final class DelayedMessage: HeldBack {
    /// A closure, whatever is in it: so that the limiter is of one type, and the compiler knows it. In a structure, or
    /// it would be wrapped in a second one that calls it as generic code does.
    private struct Held: Sendable {
        let target: ObjectIdentifier?
        let run: @Sendable () -> Void
    }

    let window: ThrottleRule.Settings.Window
    private let limiter: RateLimiter<Held>

    init(_ settings: ThrottleRule.Settings) {
        window = settings.window
        // Flushed: what a rule's end, or its loop's, finds here is not lost.
        limiter =
            if window.mode == .last {
                Throttle(interval: settings.interval, edges: .trailing, on: settings.loop, whenReleased: .flush) {
                    $0.run()
                }
            } else {
                Debounce(interval: settings.interval, on: settings.loop, whenReleased: .flush) { $0.run() }
            }
    }

    var verdict: RuleBook.Verdict { .hold(self) }

    /// False when nothing may keep the target, since its `deinit` runs, and when the loop has ended.
    @usableFromInline
    func hold(
        _ message: @escaping @Sendable () -> Void, to target: ObjectIdentifier?, isGoing: () -> Bool
    ) -> Bool {
        // The target of what is held back is kept already. It takes longer to ask.
        if !limiter.isPending(where: { $0.target == target }), isGoing() { return false }
        return limiter(Held(target: target, run: message))
    }

    func flush() { limiter.flush() }

    /// What is held back was sent earlier than the message that has come, which takes its place.
    func giveWay() { limiter.cancel() }
}
