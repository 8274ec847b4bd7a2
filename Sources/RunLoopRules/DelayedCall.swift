import RunLoopKit

/// Delays the calls of a rule that does not merge: keeps the last call, with its target.
@usableFromInline
final class DelayedCall<Target: Sendable, Input: Sendable>: HeldCalls, @unchecked Sendable {
    /// A call, as it is. A closure would be allocated again at each call.
    @usableFromInline
    struct Held: Sendable {
        @usableFromInline let id: ObjectIdentifier?
        @usableFromInline let target: Target
        @usableFromInline var input: Input
        @usableFromInline let body: MethodBody<Target, Input>

        @inlinable
        init(_ id: ObjectIdentifier?, _ target: Target, _ input: Input, _ body: MethodBody<Target, Input>) {
            (self.id, self.target, self.input, self.body) = (id, target, input, body)
        }
    }

    @usableFromInline let limiter: Limiter<Held>

    /// The limiter's. Kept here, since a constant of this object need not be retained while it is used.
    @usableFromInline let core: SingleLimiter<Held>

    init(_ settings: AnyMethodRule.Settings) {
        let run: @Sendable (Held) -> Void = { $0.body($0.target, $0.input) }
        limiter = Limiter(ofRule: settings.kind, interval: settings.interval, on: settings.loop, action: run)
        core = limiter.core
        super.init(settings.window, merges: false)
    }

    /// Takes a call in place of the delayed one, if that has the same target: so it retains nothing but the input.
    ///
    /// - Returns: Whether it has taken the call. Nil, with nothing done, if another call is delayed, or none.
    @inlinable
    func replaceInput(with input: Input, on id: ObjectIdentifier) -> Bool? {
        guard core.lockIfPending() else { return nil }
        let held = core.inputs.lasts
        guard held.pointee.id == id else {
            core.endCall()
            return nil
        }
        let step = core.handleCall()
        switch step {
        case .replace: break
        // The lock is released: the delayed call may be gone.
        case .refuse: return false
        case .ignore: return true
        default: return core.finish(step, with: Held(id, held.pointee.target, input, held.pointee.body))
        }
        let replaced = exchange(&held.pointee.input, with: input)
        core.endCall()
        _ = consume replaced  // Not earlier: an input's deinit may call the method.
        return true
    }

    /// Takes a call. Returns false if the target's `deinit` runs, so that it must not be retained, or the loop has
    /// ended.
    @inlinable
    func hold(_ call: Held, isDeallocating: () -> Bool) -> Bool {
        // The delayed call retains its target already. Asking takes longer.
        if !limiter.isPending(where: { $0.id == call.id }), isDeallocating() { return false }
        return core.call(call)
    }

    override func reportIfMainIsGone() { core.reportIfMainIsGone() }

    override func flush() -> Bool { limiter.flush() }

    override var isPending: Bool { limiter.isPending }

    override func isPending(on target: ObjectIdentifier) -> Bool { limiter.isPending { $0.id == target } }

    /// The call that has come replaces the delayed one, which is older.
    override func giveWay() { limiter.cancel() }
}
