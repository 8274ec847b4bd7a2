// Limiters of `Loop.main` whose actions belong to the main actor, and may touch its state. As in
// MainActorHandlers.swift, a call of the action checks nothing.

extension Debounce {
    /// Makes a debounce on ``Loop/main`` whose action belongs to the main actor, and may touch its state.
    /// ``Debounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)`` has the details of
    /// each parameter.
    ///
    /// ```swift
    /// @MainActor final class Document {
    ///     var text = "" { didSet { save(text) } }
    ///     private let save = Debounce<String>(interval: .seconds(1), on: .main)
    ///
    ///     init() { save.setHandler(isolation: .shared) { [weak self] in self?.write($0) } }
    ///     private func write(_ text: String) { print("saved \(text)") }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over.
    ///   - edges: When to act.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action; nil for no limit.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost; nil to keep the last
    ///     one.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil,
        isolation mainActor: MainActor, in modes: Set<Loop.Mode> = [.common],
        whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, action: @escaping @MainActor (_ input: Input) -> Void
    ) {
        self.init(
            interval: interval, edges: edges, maxWait: maxWait, on: .main, in: modes, whenReleased: whenReleased,
            merging: combine, label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Input) -> Void).self))
    }

    /// Makes a debounce on ``Loop/main`` whose action belongs to the main actor, and gets all inputs since the last
    /// action, in the order of the calls.
    /// ``Debounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)`` has the details of
    /// each parameter.
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over.
    ///   - edges: When to act.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action; nil for no limit.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread. Never with an empty array.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil,
        isolation mainActor: MainActor, in modes: Set<Loop.Mode> = [.common],
        whenReleased: RateLimitRelease = .discard, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, action: @escaping @MainActor (_ inputs: [Input]) -> Void
    ) -> Debounce {
        collecting(
            interval: interval, edges: edges, maxWait: maxWait, on: .main, in: modes, whenReleased: whenReleased,
            label: label, file: file, line: line, action: unsafeBitCast(action, to: (@Sendable ([Input]) -> Void).self))
    }
}

extension Throttle {
    /// Makes a throttle on ``Loop/main`` whose action belongs to the main actor, and may touch its state.
    /// ``Throttle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`` has the details of each
    /// parameter.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens.
    ///   - edges: When to act. Nil, the default: the leading edge; with `merging` both.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost; nil to keep the last
    ///     one.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges? = nil, isolation mainActor: MainActor,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, action: @escaping @MainActor (_ input: Input) -> Void
    ) {
        self.init(
            interval: interval, edges: edges, on: .main, in: modes, whenReleased: whenReleased, merging: combine,
            label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Input) -> Void).self))
    }

    /// Makes a throttle on ``Loop/main`` whose action belongs to the main actor, and gets all inputs since the last
    /// action, in the order of the calls.
    /// ``Throttle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`` has the details of each
    /// parameter.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens.
    ///   - edges: When to act. Both by default: with the leading edge alone nothing would be collected.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread. Never with an empty array.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = [.leading, .trailing], isolation mainActor: MainActor,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @MainActor (_ inputs: [Input]) -> Void
    ) -> Throttle {
        collecting(
            interval: interval, edges: edges, on: .main, in: modes, whenReleased: whenReleased, label: label,
            file: file, line: line, action: unsafeBitCast(action, to: (@Sendable ([Input]) -> Void).self))
    }
}

extension KeyedDebounce {
    /// Makes a keyed debounce on ``Loop/main`` whose action belongs to the main actor, and may touch its state.
    /// ``Debounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)`` has the details of
    /// each parameter.
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over.
    ///   - edges: When to act.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action; nil for no limit.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost; nil to keep the last
    ///     one.
    ///   - label: What diagnostics call the limiter's timer and blocks, which serve all keys; nil to call them by the
    ///     place where it was made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil,
        isolation mainActor: MainActor, in modes: Set<Loop.Mode> = [.common],
        whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @MainActor (_ key: Key, _ input: Input) -> Void
    ) {
        self.init(
            interval: interval, edges: edges, maxWait: maxWait, on: .main, in: modes, whenReleased: whenReleased,
            merging: combine, label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Key, Input) -> Void).self))
    }

    /// Makes a keyed debounce on ``Loop/main`` whose action belongs to the main actor, and gets all inputs of a key
    /// since the last action, in the order of the calls.
    /// ``Debounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)`` has the details of
    /// each parameter.
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over.
    ///   - edges: When to act.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action; nil for no limit.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    ///   - label: What diagnostics call the limiter's timer and blocks, which serve all keys; nil to call them by the
    ///     place where it was made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread. Never with an empty array.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil,
        isolation mainActor: MainActor, in modes: Set<Loop.Mode> = [.common],
        whenReleased: RateLimitRelease = .discard, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, action: @escaping @MainActor (_ key: Key, _ inputs: [Input]) -> Void
    ) -> KeyedDebounce {
        collecting(
            interval: interval, edges: edges, maxWait: maxWait, on: .main, in: modes, whenReleased: whenReleased,
            label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Key, [Input]) -> Void).self))
    }
}

extension KeyedThrottle {
    /// Makes a keyed throttle on ``Loop/main`` whose action belongs to the main actor, and may touch its state.
    /// ``Throttle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`` has the details of each
    /// parameter.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens.
    ///   - edges: When to act. Nil, the default: the leading edge; with `merging` both.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost; nil to keep the last
    ///     one.
    ///   - label: What diagnostics call the limiter's timer and blocks, which serve all keys; nil to call them by the
    ///     place where it was made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread.
    public convenience init(
        interval: Duration, edges: RateLimitEdges? = nil, isolation mainActor: MainActor,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @MainActor (_ key: Key, _ input: Input) -> Void
    ) {
        self.init(
            interval: interval, edges: edges, on: .main, in: modes, whenReleased: whenReleased, merging: combine,
            label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Key, Input) -> Void).self))
    }

    /// Makes a keyed throttle on ``Loop/main`` whose action belongs to the main actor, and gets all inputs of a key
    /// since the last action, in the order of the calls.
    /// ``Throttle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`` has the details of each
    /// parameter.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens.
    ///   - edges: When to act. Both by default: with the leading edge alone nothing would be collected.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    ///   - label: What diagnostics call the limiter's timer and blocks, which serve all keys; nil to call them by the
    ///     place where it was made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread. Never with an empty array.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = [.leading, .trailing], isolation mainActor: MainActor,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @MainActor (_ key: Key, _ inputs: [Input]) -> Void
    ) -> KeyedThrottle {
        collecting(
            interval: interval, edges: edges, on: .main, in: modes, whenReleased: whenReleased, label: label,
            file: file, line: line, action: unsafeBitCast(action, to: (@Sendable (Key, [Input]) -> Void).self))
    }
}

extension PacedQueue {
    /// Makes a queue on ``Loop/main`` whose action belongs to the main actor, and may touch its state.
    /// ``PacedQueue/init(_:per:burst:capacity:on:in:whenReleased:label:file:line:action:)`` has the details of each
    /// parameter.
    ///
    /// - Parameters:
    ///   - tokens: How many tokens come in a period.
    ///   - period: The period.
    ///   - burst: How many tokens can be saved up.
    ///   - capacity: How many inputs can wait.
    ///   - mainActor: `.shared`.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to inputs that wait when the queue is deallocated or the loop ends.
    ///   - label: What diagnostics call the queue's timer and blocks; nil to call them by the place where it was made.
    ///   - file: The source file that makes the queue, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the main thread for each input.
    public convenience init(
        _ tokens: Int, per period: Duration, burst: Int = 1, capacity: Int, isolation mainActor: MainActor,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, action: @escaping @MainActor (_ input: Input) -> Void
    ) {
        self.init(
            tokens, per: period, burst: burst, capacity: capacity, on: .main, in: modes, whenReleased: whenReleased,
            label: label, file: file, line: line,
            action: unsafeBitCast(action, to: (@Sendable (Input) -> Void).self))
    }
}
