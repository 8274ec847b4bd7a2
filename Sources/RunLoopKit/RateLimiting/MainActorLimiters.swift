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
    ///   - interval: The time without a call after which a burst is over. A negative value counts as zero; one beyond
    ///     the clock's range never ends.
    ///   - edges: When to act. Without any edge it never acts.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action. Less than the interval
    ///     counts as the interval; nil: no limit.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts: the action waits while the loop runs in others. With none it
    ///     acts only on calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost. The inputs of a burst
    ///     are kept, and combined on the loop's thread right before the action, with no lock held. Nil: the last one
    ///     counts. With `edges: .leading` nothing is combined: each action gets the input of its own call, and the
    ///     inputs between are lost.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
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
    ///   - interval: The time in which at most one action happens. A negative value counts as zero; one beyond the
    ///     clock's range never ends.
    ///   - edges: When to act. Without any edge it never acts. Nil, the default: the leading edge; with `merging`
    ///     both, since calls are dropped without the trailing one.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts: the action waits while the loop runs in others. With none it
    ///     acts only on calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost. The inputs of a burst
    ///     are kept, and combined on the loop's thread right before the action, with no lock held. Nil: the last one
    ///     counts. With `edges: .leading` nothing is combined: each action gets the input of its own call, and the
    ///     inputs between are lost.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges? = nil, isolation mainActor: MainActor,
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
    ///   - interval: The time without a call after which a burst is over. A negative value counts as zero; one beyond
    ///     the clock's range never ends.
    ///   - edges: When to act. Without any edge it never acts.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action. Less than the interval
    ///     counts as the interval; nil: no limit.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts: the action waits while the loop runs in others. With none it
    ///     acts only on calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost. The inputs of a burst
    ///     are kept, and combined on the loop's thread right before the action, with no lock held. Nil: the last one
    ///     counts. With `edges: .leading` nothing is combined: each action gets the input of its own call, and the
    ///     inputs between are lost.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
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
    ///   - interval: The time in which at most one action happens. A negative value counts as zero; one beyond the
    ///     clock's range never ends.
    ///   - edges: When to act. Without any edge it never acts. Nil, the default: the leading edge; with `merging`
    ///     both, since calls are dropped without the trailing one.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts: the action waits while the loop runs in others. With none it
    ///     acts only on calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost. The inputs of a burst
    ///     are kept, and combined on the loop's thread right before the action, with no lock held. Nil: the last one
    ///     counts. With `edges: .leading` nothing is combined: each action gets the input of its own call, and the
    ///     inputs between are lost.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges? = nil, isolation mainActor: MainActor,
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
