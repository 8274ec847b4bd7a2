/// A burst of calls: its state, and the inputs that wait for its trailing edge. Guarded by the limiter's lock.
///
/// Inputs that leave are returned, so that the caller releases them without the lock: their `deinit` may call the
/// limiter. The last input is behind a pointer, since callers are seldom specialised for `Input`: a property of type
/// `Input?` takes ten times as long.
class Burst<Input: Sendable>: AnyBurst {
    final let keepsAll: Bool
    /// The inputs before the last one. Empty unless all inputs are kept.
    private final var earlier: [Input] = []
    /// Initialized while the state says that an input is pending.
    private final let last = UnsafeMutablePointer<Input>.allocate(capacity: 1)

    init(_ state: RateLimitState, keepsAll: Bool) {
        self.keepsAll = keepsAll
        super.init(state)
    }

    deinit {
        if state.isPending { last.deinitialize(count: 1) }
        last.deallocate()
    }

    /// Returns the last input, in whose place it puts another one.
    final func replaceLast(with input: Input) -> Input {
        let replaced = last.move()
        last.initialize(to: input)
        return replaced
    }

    /// Keeps or delivers the input of a call, which the state has handled.
    ///
    /// - Parameters:
    ///   - acts: What the state returned.
    ///   - wasPending: What the state said before the call.
    /// - Returns: The inputs to act on, if the call acts, and the input that it replaces.
    final func add(_ input: Input, acts: Bool, wasPending: Bool) -> (batch: InputBatch<Input>?, replaced: Input?) {
        var replaced: Input?
        if wasPending {
            if keepsAll { earlier.append(last.move()) } else { replaced = last.move() }
        }
        if acts { return (InputBatch(earlier: exchange(&earlier, with: []), last: input), replaced) }
        if state.isPending { last.initialize(to: input) }
        return (nil, replaced)
    }

    /// Takes the inputs to act on, when the state has returned that the timer or a flush acts.
    final func take() -> InputBatch<Input> { InputBatch(earlier: exchange(&earlier, with: []), last: last.move()) }

    /// Cancels the burst. Returns its inputs.
    final func cancel() -> InputBatch<Input>? {
        defer { state.cancel() }
        return state.isPending ? take() : nil
    }

    final func isPending(where isSuch: (Input) -> Bool) -> Bool { state.isPending && isSuch(last.pointee) }
}
