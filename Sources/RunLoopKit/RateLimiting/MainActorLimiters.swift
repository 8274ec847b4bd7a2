// Limiters of `Loop.main` whose actions belong to the main actor, and may touch its state. As in
// MainActorHandlers.swift, a call of the action checks nothing.

extension Debounce {
    /// Makes a debounce on ``Loop/main`` whose action belongs to the main actor, and may touch its state.
    ///
    /// ```swift
    /// @MainActor final class Document {
    ///     var text = "" { didSet { save(text) } }
    ///     private lazy var save = Debounce<String>(interval: .seconds(1), isolation: .shared) { [weak self] in
    ///         self?.write($0)
    ///     }
    ///     private func write(_ text: String) { print("saved \(text)") }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - interval, edges, maxWait, modes, whenReleased, combine, label, file, line: As in
    ///     `init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)`.
    ///   - mainActor: `.shared`.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil,
        isolation mainActor: MainActor, in modes: Set<Loop.Mode> = [.common],
        whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil, label: StaticString? = nil,
        file: StaticString = #fileID, line: UInt = #line, action: @escaping @MainActor (_ input: Input) -> Void
    ) {
        self.init(
            interval: interval, edges: edges, maxWait: maxWait, on: .main, in: modes, whenReleased: whenReleased,
            merging: combine, label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Input) -> Void).self))
    }
}

extension Throttle {
    /// Makes a throttle on ``Loop/main`` whose action belongs to the main actor, and may touch its state.
    ///
    /// - Parameters:
    ///   - interval, edges, modes, whenReleased, combine, label, file, line: As in
    ///     `init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`.
    ///   - mainActor: `.shared`.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .leading, isolation mainActor: MainActor,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil, label: StaticString? = nil,
        file: StaticString = #fileID, line: UInt = #line, action: @escaping @MainActor (_ input: Input) -> Void
    ) {
        self.init(
            interval: interval, edges: edges, on: .main, in: modes, whenReleased: whenReleased, merging: combine,
            label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Input) -> Void).self))
    }
}

extension KeyedDebounce {
    /// Makes a keyed debounce on ``Loop/main`` whose action belongs to the main actor, and may touch its state.
    ///
    /// - Parameters:
    ///   - interval, edges, maxWait, modes, whenReleased, combine, label, file, line: As in
    ///     `init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)`.
    ///   - mainActor: `.shared`.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil,
        isolation mainActor: MainActor, in modes: Set<Loop.Mode> = [.common],
        whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil, label: StaticString? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @MainActor (_ key: Key, _ input: Input) -> Void
    ) {
        self.init(
            interval: interval, edges: edges, maxWait: maxWait, on: .main, in: modes, whenReleased: whenReleased,
            merging: combine, label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Key, Input) -> Void).self))
    }
}

extension KeyedThrottle {
    /// Makes a keyed throttle on ``Loop/main`` whose action belongs to the main actor, and may touch its state.
    ///
    /// - Parameters:
    ///   - interval, edges, modes, whenReleased, combine, label, file, line: As in
    ///     `init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`.
    ///   - mainActor: `.shared`.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .leading, isolation mainActor: MainActor,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil, label: StaticString? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @MainActor (_ key: Key, _ input: Input) -> Void
    ) {
        self.init(
            interval: interval, edges: edges, on: .main, in: modes, whenReleased: whenReleased, merging: combine,
            label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Key, Input) -> Void).self))
    }
}
