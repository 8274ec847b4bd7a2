/// Delays the calls of a rule that does not merge: keeps the last call, with its target.
@usableFromInline
final class DelayedCall: HeldCalls {
    /// The limiter's input. A closure for every type of call, so that the compiler knows the limiter's type. In a
    /// structure: a bare closure would be wrapped in a second one, as generic code calls it.
    private struct Held: Sendable {
        let target: ObjectIdentifier?
        let run: @Sendable () -> Void
    }

    let window: ThrottleRule.Settings.Window
    private let limiter: RateLimiter<Held>

    init(_ settings: ThrottleRule.Settings) {
        window = settings.window
        // Flushed, so that no call is lost when the rule or its loop ends.
        limiter =
            if window.mode == .last {
                Throttle(
                    interval: settings.interval, edges: .trailing, on: settings.loop, whenReleased: .flush,
                    label: "rule"
                ) {
                    $0.run()
                }
            } else {
                Debounce(interval: settings.interval, on: settings.loop, whenReleased: .flush, label: "rule") {
                    $0.run()
                }
            }
    }

    var verdict: RuleBook.Verdict { .hold(self) }

    /// Takes a call. Returns false if the target's `deinit` runs, so that it must not be retained, or the loop has
    /// ended.
    @usableFromInline
    func hold(
        _ call: @escaping @Sendable () -> Void, on target: ObjectIdentifier?, isDeallocating: () -> Bool
    ) -> Bool {
        // The delayed call retains its target already. Asking takes longer.
        if !limiter.isPending(where: { $0.target == target }), isDeallocating() { return false }
        return limiter(Held(target: target, run: call))
    }

    func flush() { limiter.flush() }

    /// The call that has come replaces the delayed one, which is older.
    func giveWay() { limiter.cancel() }
}
