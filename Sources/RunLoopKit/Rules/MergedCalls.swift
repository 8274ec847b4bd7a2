/// Holds messages back until their time, for rules that merge: keeps all of them, with their targets, and runs one for
/// each target, with what its inputs were merged to.
@usableFromInline
final class MergedMessages<Input: Sendable>: HeldBack {
    private struct Held: Sendable {
        let target: ObjectIdentifier
        let input: Input
        /// Keeps the target.
        let run: @Sendable (Input) -> Void
    }

    let window: ThrottleRule.Settings.Window
    private let limiter: RateLimiter<Held>

    /// Retains the merger: the window knows it by its address, which must not come again meanwhile.
    init(_ settings: ThrottleRule.Settings, _ merger: Merger<Input>) {
        window = settings.window
        let run: @Sendable ([Held]) -> Void = { Self.run($0, mergedBy: merger) }
        limiter =
            if window.mode == .last {
                Throttle.collecting(
                    interval: settings.interval, edges: .trailing, on: settings.loop, whenReleased: .flush, action: run)
            } else {
                Debounce.collecting(
                    interval: settings.interval, on: settings.loop, whenReleased: .flush, action: run)
            }
    }

    var verdict: RuleBook.Verdict { .merge(self) }

    /// False when nothing may keep the target, since its `deinit` runs, and when the loop has ended.
    @usableFromInline
    func hold(
        _ input: Input, to target: ObjectIdentifier, isGoing: () -> Bool, run: @escaping @Sendable (Input) -> Void
    ) -> Bool {
        // The target of what is held back is kept already. It takes longer to ask.
        if !limiter.isPending(where: { $0.target == target }), isGoing() { return false }
        return limiter(Held(target: target, input: input, run: run))
    }

    func flush() { limiter.flush() }

    /// Nothing is lost: what is held back runs now.
    func giveWay() { limiter.flush() }

    private static func run(_ messages: [Held], mergedBy merger: Merger<Input>) {
        var places: [ObjectIdentifier: Int] = [:]
        var merged: [(input: Input, run: @Sendable (Input) -> Void)] = []
        for message in messages {
            if let place = places[message.target] {
                merged[place].input = merger.combine(merged[place].input, message.input)
            } else {
                places[message.target] = merged.count
                merged.append((message.input, message.run))
            }
        }
        for message in merged { message.run(message.input) }
    }
}

/// How a rule merges the inputs of a burst. An object, so that a rule whose closure has changed can be told from one
/// whose closure has not.
final class Merger<Input: Sendable>: MessageMerger {
    let combine: @Sendable (_ pending: Input, _ new: Input) -> Input

    init(_ combine: @escaping @Sendable (_ pending: Input, _ new: Input) -> Input) { self.combine = combine }

    func makeHeldBack(_ settings: ThrottleRule.Settings) -> any HeldBack { MergedMessages(settings, self) }
}

/// A `Merger`, whatever the type of the inputs: rules are not generic where messages are sent.
protocol MessageMerger: AnyObject, Sendable {
    func makeHeldBack(_ settings: ThrottleRule.Settings) -> any HeldBack
}
