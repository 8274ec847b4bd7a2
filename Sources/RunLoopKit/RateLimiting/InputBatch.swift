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
/// What leaves is returned, to be released without the lock: an input's `deinit` may call the limiter. The last input is
/// behind a pointer, since callers are seldom specialised for `Input`: a property of type `Input?` takes ten times as long.
struct PendingInputs<Input: Sendable>: @unchecked Sendable {
    private var earlier: [Input] = []
    private let last = UnsafeMutablePointer<Input>.allocate(capacity: 1)
    private(set) var isEmpty = true

    /// To be called once, at the end.
    func destroy() {
        if !isEmpty { last.deinitialize(count: 1) }
        last.deallocate()
    }

    /// Adds an input after the others.
    mutating func append(_ input: Input) {
        if !isEmpty { earlier.append(last.move()) }
        last.initialize(to: input)
        isEmpty = false
    }

    /// Puts an input in the place of the last one, which it returns.
    ///
    /// - Precondition: There is one.
    mutating func replaceLast(with input: Input) -> Input {
        let replaced = last.move()
        last.initialize(to: input)
        return replaced
    }

    /// - Precondition: There is one.
    mutating func takeAll() -> InputBatch<Input> {
        isEmpty = true
        defer { earlier = [] }
        return InputBatch(earlier: earlier, last: last.move())
    }
}
