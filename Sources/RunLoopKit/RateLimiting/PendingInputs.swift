/// The inputs that one action is going to get: the last one, and, where a burst is to deliver everything, those before
/// it.
struct InputBatch<Input: Sendable>: Sendable {
    /// Empty unless all inputs are kept.
    var earlier: [Input] = []
    let last: Input

    /// All of them, in the order of the calls.
    var all: [Input] { earlier + CollectionOfOne(last) }

    /// All of them, combined from the first to the last.
    func merged(_ combine: (Input, Input) -> Input) -> Input {
        guard let first = earlier.first else { return last }
        return combine(earlier.dropFirst().reduce(first, combine), last)
    }
}

/// The inputs of a burst that wait for its trailing edge. Guarded by the limiter's lock.
///
/// What leaves is returned, to be let go of without the lock: an input's `deinit` may call the limiter.
struct PendingInputs<Input: Sendable>: Sendable {
    private var earlier: [Input] = []
    private var last: Input?

    /// Adds an input, after the others or instead of them. Returns the one it replaces.
    mutating func add(_ input: Input, keepingAll: Bool) -> Input? {
        let previous = last
        last = input
        guard keepingAll, let previous else { return previous }
        earlier.append(previous)
        return nil
    }

    mutating func takeAll() -> InputBatch<Input>? {
        guard let last else { return nil }
        let batch = InputBatch(earlier: earlier, last: last)
        self = PendingInputs()
        return batch
    }
}
