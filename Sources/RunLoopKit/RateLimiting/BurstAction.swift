/// The action of a limiter.
enum BurstAction<Input>: Sendable {
    /// Gets the last input of a burst. The caller's own closure: one around it would take 64 bytes.
    case onLast(@Sendable (_ last: Input) -> Void)

    /// Gets all inputs of a burst. There are none before the last one if the limiter does not keep them.
    ///
    /// Two parameters: a value of a generic type with both would need type metadata wherever it is touched, several
    /// times for each action, for 500 instructions each.
    case onAll(@Sendable (_ earlier: [Input]?, _ last: Input) -> Void)

    /// - Parameter combine: Combines the inputs of a burst; nil to act on the last one.
    init(merging combine: (@Sendable (Input, Input) -> Input)?, _ action: @escaping @Sendable (Input) -> Void) {
        self = if let combine { .onAll { action(merged($0, $1, combine)) } } else { .onLast(action) }
    }

    func callAsFunction(_ earlier: [Input]?, _ last: Input) {
        switch self {
        case .onLast(let action): action(last)
        case .onAll(let action): action(earlier, last)
        }
    }
}

/// All inputs, combined from the first to the last; the last one without a way to combine them.
func merged<Input>(_ earlier: [Input]?, _ last: Input, _ combine: ((Input, Input) -> Input)?) -> Input {
    guard let combine, let earlier, !earlier.isEmpty else { return last }
    // Not `earlier.first`: looking up the metadata of the optional type takes 217 instructions.
    var merged = earlier[0]
    for index in 1..<earlier.count { merged = combine(merged, earlier[index]) }
    return combine(merged, last)
}

/// All inputs, in the order of the calls.
func all<Input>(_ earlier: [Input]?, _ last: Input) -> [Input] { (earlier ?? []) + CollectionOfOne(last) }

/// Releases the inputs of a burst, which a limiter must do without its lock. Not by `withExtendedLifetime`, which looks
/// up both types, for 435 instructions.
@inline(never)
func releaseInputs<Input>(_ earlier: consuming [Input]?, _ last: consuming Input) {}
