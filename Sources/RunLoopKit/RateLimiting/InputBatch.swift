/// The inputs that one action gets: the last one and, where a burst delivers everything, those before it.
struct InputBatch<Input: Sendable>: Sendable {
    /// Empty unless all inputs are kept.
    let earlier: [Input]
    let last: Input

    /// All inputs, in the order of the calls.
    var all: [Input] { earlier + CollectionOfOne(last) }

    /// All inputs, combined from the first to the last; the last one without a way to combine them.
    func merged(_ combine: ((Input, Input) -> Input)?) -> Input {
        guard let combine, let first = earlier.first else { return last }
        return combine(earlier.dropFirst().reduce(first, combine), last)
    }
}
