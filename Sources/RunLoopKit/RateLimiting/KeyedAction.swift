/// The action of a limiter with keys: see `BurstAction`.
enum KeyedAction<Key: Hashable & Sendable, Input: Sendable>: Sendable {
    /// Gets the last input of a key's burst.
    case onLast(@Sendable (_ key: Key, _ last: Input) -> Void)

    /// Gets all inputs of a key's burst.
    case onAll(@Sendable (_ key: Key, _ earlier: [Input]?, _ last: Input) -> Void)

    /// Gets all inputs of a key's burst, combined.
    case onMerged(KeyedMergingAction<Key, Input>)

    /// Gets all inputs of a key's burst in an array, of a limiter that merges.
    case onUnmerged(KeyedUnmergedAction<Key, Input>)

    /// There is none yet.
    case awaited(WaitingKeys<Key, Input>)

    /// - Parameters:
    ///   - combine: Combines the inputs of a burst; nil to act on the last one.
    ///   - action: Nil if there is none yet.
    init(merging combine: (@Sendable (Input, Input) -> Input)?, _ action: (@Sendable (Key, Input) -> Void)?) {
        guard let action else {
            self = .awaited(WaitingKeys(merging: combine, keepsAll: combine != nil))
            return
        }
        self = if let combine { .onMerged(KeyedMergingAction(combine, action)) } else { .onLast(action) }
    }

    /// - Parameter action: Gets all inputs of a key; nil if there is none yet.
    init(collecting action: (@Sendable (Key, [Input]) -> Void)?) {
        self =
            if let action {
                .onAll { action($0, all($1, $2)) }
            } else {
                .awaited(WaitingKeys(merging: nil, keepsAll: true))
            }
    }

    /// Combines inputs, if the limiter was made to merge.
    private var combine: (@Sendable (Input, Input) -> Input)? {
        switch self {
        case .onLast, .onAll: nil
        case .onMerged(let merging): merging.combine
        case .onUnmerged(let unmerged): unmerged.combine
        case .awaited(let keys): keys.combine
        }
    }

    private var keepsAll: Bool {
        switch self {
        case .onLast: false
        case .onAll, .onMerged, .onUnmerged: true
        case .awaited(let keys): keys.keepsAll
        }
    }

    /// As `BurstAction.replaced(by:)`.
    func replaced(by action: @escaping @Sendable (Key, Input) -> Void) -> KeyedAction {
        if let combine { return .onMerged(KeyedMergingAction(combine, action)) }
        return keepsAll ? .onAll { for input in all($1, $2) { action($0, input) } } : .onLast(action)
    }

    /// As `BurstAction.replaced(byCollecting:)`.
    func replaced(byCollecting action: @escaping @Sendable (Key, [Input]) -> Void) -> KeyedAction {
        guard let combine else { return KeyedAction(collecting: action) }
        return .onUnmerged(KeyedUnmergedAction(combine, action))
    }

    func callAsFunction(_ key: Key, _ earlier: [Input]?, _ last: Input) {
        switch self {
        case .onLast(let action): action(key, last)
        case .onAll(let action): action(key, earlier, last)
        case .onMerged(let merging): merging.action(key, merged(earlier, last, merging.combine))
        case .onUnmerged(let unmerged): unmerged.action(key, all(earlier, last))
        case .awaited: break
        }
    }
}

/// An action that gets all inputs of a key, with the closure that would combine them for another action.
final class KeyedUnmergedAction<Key: Hashable & Sendable, Input: Sendable>: Sendable {
    let combine: @Sendable (Input, Input) -> Input
    let action: @Sendable (Key, [Input]) -> Void

    init(_ combine: @escaping @Sendable (Input, Input) -> Input, _ action: @escaping @Sendable (Key, [Input]) -> Void) {
        (self.combine, self.action) = (combine, action)
    }
}

/// An action with the closure that combines its inputs.
final class KeyedMergingAction<Key: Hashable & Sendable, Input: Sendable>: Sendable {
    let combine: @Sendable (Input, Input) -> Input
    let action: @Sendable (Key, Input) -> Void

    init(_ combine: @escaping @Sendable (Input, Input) -> Input, _ action: @escaping @Sendable (Key, Input) -> Void) {
        (self.combine, self.action) = (combine, action)
    }
}

/// The keys whose actions fell due before the limiter had one, with their inputs: see `WaitingInputs`.
final class WaitingKeys<Key: Hashable & Sendable, Input: Sendable>: @unchecked Sendable {
    let combine: (@Sendable (Input, Input) -> Input)?
    let keepsAll: Bool
    private struct Waiting {
        /// Keys that fell due first have lower ones.
        let turn: UInt64
        var inputs: [Input]
    }

    private var waiting: [Key: Waiting] = [:]
    private var lastTurn: UInt64 = 0

    init(merging combine: (@Sendable (Input, Input) -> Input)?, keepsAll: Bool) {
        (self.combine, self.keepsAll) = (combine, keepsAll)
    }

    var keys: some Collection<Key> { waiting.keys }

    func contains(_ key: Key) -> Bool { waiting[key] != nil }

    /// Adds the inputs of a key's action. Returns those that no longer wait, for the caller to release without the
    /// lock.
    func add(_ key: Key, _ earlier: [Input]?, _ last: Input) -> [Input] {
        let new = keepsAll ? all(earlier, last) : [last]
        guard let index = waiting.index(forKey: key) else {
            lastTurn += 1
            waiting[key] = Waiting(turn: lastTurn, inputs: new)
            return []
        }
        guard keepsAll else { return exchange(&waiting.values[index].inputs, with: new) }
        waiting.values[index].inputs += new
        return []
    }

    /// Takes a key out. Returns what the caller must release without the lock.
    func remove(_ key: Key) -> Any? { waiting.index(forKey: key).map { waiting.remove(at: $0) } }

    /// Takes what waits, the keys in the order in which they fell due first.
    func take() -> [(key: Key, inputs: [Input])] {
        let taken = exchange(&waiting, with: [:]).sorted { $0.value.turn < $1.value.turn }
        return taken.map { ($0.key, $0.value.inputs) }
    }
}
