import RunLoopKit

/// Delays the calls of a rule that merges: keeps all of them, with their targets, and runs one for each target, with
/// its merged inputs.
@usableFromInline
final class MergedCalls<Input: Sendable>: HeldCalls, @unchecked Sendable {
    private struct Held: Sendable {
        let target: ObjectIdentifier
        let input: Input
        /// Retains the target.
        let run: @Sendable (Input) -> Void
    }

    private let limiter: Limiter<Held>

    /// Retains the merger: the window identifies it by its address, which must not be reused meanwhile.
    init(_ settings: AnyMethodRule.Settings, _ merger: Merger<Input>) {
        let run: @Sendable ([Held]) -> Void = { Self.run($0, mergedBy: merger) }
        limiter = Limiter(ofRule: settings.kind, interval: settings.interval, on: settings.loop, collecting: run)
        super.init(settings.window, merges: true)
    }

    /// Takes a call. Returns false if the target's `deinit` runs, so that it must not be retained, or the loop has
    /// ended.
    @usableFromInline
    func hold(
        _ input: Input, on target: ObjectIdentifier, isDeallocating: () -> Bool,
        run: @escaping @Sendable (Input) -> Void
    ) -> Bool {
        // A delayed call retains its target already. Asking takes longer.
        if !limiter.isPending(where: { $0.target == target }), isDeallocating() { return false }
        return limiter.core.call(Held(target: target, input: input, run: run))
    }

    override func reportIfMainIsGone() { limiter.core.reportIfMainIsGone() }

    override func flush() -> Bool { limiter.flush() }

    override var isPending: Bool { limiter.isPending }

    override func isPending(on target: ObjectIdentifier) -> Bool {
        let core = limiter.core
        guard core.lockIfPending() else { return false }
        defer { core.endCall() }
        let (earlier, last) = (core.inputs.earlier!.pointee, core.inputs.lasts.pointee)
        return last.target == target || earlier.contains { $0.target == target }
    }

    /// Loses nothing: the delayed calls run now.
    override func giveWay() { limiter.flush() }

    private static func run(_ calls: [Held], mergedBy merger: Merger<Input>) {
        var places: [ObjectIdentifier: Int] = [:]
        var merged: [(input: Input, run: @Sendable (Input) -> Void)] = []
        for call in calls {
            if let place = places[call.target] {
                merged[place].input = merger.combine(merged[place].input, call.input)
            } else {
                places[call.target] = merged.count
                merged.append((call.input, call.run))
            }
        }
        for call in merged { call.run(call.input) }
    }
}

/// Merges the inputs of a burst. An object, so that its identity tells whether a rule's closure was replaced.
final class Merger<Input: Sendable>: AnyMerger {
    let combine: @Sendable (_ pending: Input, _ new: Input) -> Input

    init(_ combine: @escaping @Sendable (_ pending: Input, _ new: Input) -> Input) { self.combine = combine }

    func makeHeldCalls(_ settings: AnyMethodRule.Settings) -> HeldCalls { MergedCalls(settings, self) }
}

/// A `Merger` for inputs of any type: the code that decides about a call is not generic.
protocol AnyMerger: AnyObject, Sendable {
    func makeHeldCalls(_ settings: AnyMethodRule.Settings) -> HeldCalls
}
