/// The action of a limiter.
enum BurstAction<Input: Sendable>: Sendable {
    /// Gets the last input of a burst. The caller's own closure: one around it would take 64 bytes.
    case onLast(@Sendable (_ last: Input) -> Void)

    /// Gets all inputs of a burst. There are none before the last one if the limiter does not keep them.
    ///
    /// Two parameters: a value of a generic type with both would need type metadata wherever it is touched, several
    /// times for each action, for 500 instructions each.
    case onAll(@Sendable (_ earlier: [Input]?, _ last: Input) -> Void)

    /// Gets all inputs of a burst, combined.
    case onMerged(MergingAction<Input>)

    /// Gets all inputs of a burst in an array, of a limiter that merges.
    case onUnmerged(UnmergedAction<Input>)

    /// There is none yet.
    case awaited(WaitingInputs<Input>)

    /// - Parameters:
    ///   - combine: Combines the inputs of a burst; nil to act on the last one.
    ///   - action: Nil if there is none yet.
    init(merging combine: (@Sendable (Input, Input) -> Input)?, _ action: (@Sendable (Input) -> Void)?) {
        guard let action else {
            self = .awaited(WaitingInputs(merging: combine, keepsAll: combine != nil))
            return
        }
        self = if let combine { .onMerged(MergingAction(combine, action)) } else { .onLast(action) }
    }

    /// - Parameter action: Gets all inputs; nil if there is none yet.
    init(collecting action: (@Sendable ([Input]) -> Void)?) {
        self =
            if let action {
                .onAll { action(all($0, $1)) }
            } else {
                .awaited(WaitingInputs(merging: nil, keepsAll: true))
            }
    }

    /// Combines inputs, if the limiter was made to merge.
    private var combine: (@Sendable (Input, Input) -> Input)? {
        switch self {
        case .onLast, .onAll: nil
        case .onMerged(let merging): merging.combine
        case .onUnmerged(let unmerged): unmerged.combine
        case .awaited(let inputs): inputs.combine
        }
    }

    private var keepsAll: Bool {
        switch self {
        case .onLast: false
        case .onAll, .onMerged, .onUnmerged: true
        case .awaited(let inputs): inputs.keepsAll
        }
    }

    /// Another action in place of this one. It gets all inputs combined if the limiter merges, each if it collects, and
    /// otherwise the last one.
    func replaced(by action: @escaping @Sendable (Input) -> Void) -> BurstAction {
        if let combine { return .onMerged(MergingAction(combine, action)) }
        return keepsAll ? .onAll { for input in all($0, $1) { action(input) } } : .onLast(action)
    }

    /// Another action in place of this one, which gets all inputs.
    func replaced(byCollecting action: @escaping @Sendable ([Input]) -> Void) -> BurstAction {
        guard let combine else { return BurstAction(collecting: action) }
        return .onUnmerged(UnmergedAction(combine, action))
    }

    func callAsFunction(_ earlier: [Input]?, _ last: Input) {
        switch self {
        case .onLast(let action): action(last)
        case .onAll(let action): action(earlier, last)
        case .onMerged(let merging): merging.action(merged(earlier, last, merging.combine))
        case .onUnmerged(let unmerged): unmerged.action(all(earlier, last))
        case .awaited: break
        }
    }
}

/// An action that gets all inputs, with the closure that would combine them for another action.
final class UnmergedAction<Input: Sendable>: Sendable {
    let combine: @Sendable (Input, Input) -> Input
    let action: @Sendable ([Input]) -> Void

    init(_ combine: @escaping @Sendable (Input, Input) -> Input, _ action: @escaping @Sendable ([Input]) -> Void) {
        (self.combine, self.action) = (combine, action)
    }
}

/// An action with the closure that combines its inputs.
final class MergingAction<Input: Sendable>: Sendable {
    let combine: @Sendable (Input, Input) -> Input
    let action: @Sendable (Input) -> Void

    init(_ combine: @escaping @Sendable (Input, Input) -> Input, _ action: @escaping @Sendable (Input) -> Void) {
        (self.combine, self.action) = (combine, action)
    }
}

/// The inputs of actions that fell due before the limiter had one, and what the limiter then needs to know. Guarded by
/// the limiter's lock.
final class WaitingInputs<Input: Sendable>: @unchecked Sendable {
    let combine: (@Sendable (Input, Input) -> Input)?
    /// Whether all inputs wait, or the last one only.
    let keepsAll: Bool
    private var inputs: [Input] = []

    init(merging combine: (@Sendable (Input, Input) -> Input)?, keepsAll: Bool) {
        (self.combine, self.keepsAll) = (combine, keepsAll)
    }

    var isEmpty: Bool { inputs.isEmpty }

    /// Adds the inputs of an action. Returns those that no longer wait, for the caller to release without the lock.
    func add(_ earlier: [Input]?, _ last: Input) -> [Input] {
        guard keepsAll else { return exchange(&inputs, with: [last]) }
        inputs += all(earlier, last)
        return []
    }

    /// Takes what waits.
    func take() -> [Input] { exchange(&inputs, with: []) }
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
