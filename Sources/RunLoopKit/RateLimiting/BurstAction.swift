/// What an action gets: the last input of a burst. Where a burst delivers everything it gets those before it, too;
/// otherwise nil.
///
/// Two parameters: a value of a generic type with both would need type metadata wherever it is touched, several times
/// for each action, for 500 instructions each.
typealias BurstAction<Input> = @Sendable (_ earlier: [Input]?, _ last: Input) -> Void

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
