extension Loop {
    /// Why an item of a loop is not called now. Made by ``Loop/explain(_:)``.
    public enum Explanation: Sendable, Equatable, CustomStringConvertible {
        /// The item is invalid: it is never called again.
        case invalid
        /// The loop ended this long ago, on its own clock, and runs nothing.
        case loopHasEnded(ago: Duration)
        /// The item is in no mode of this loop; `isElsewhere` if it is in another loop.
        case notAdded(isElsewhere: Bool)
        /// The loop does not run. Its thread has to call ``Loop/run()``.
        case loopDoesNotRun
        /// The loop runs, but in a mode that the item is not in.
        case otherMode(running: Mode, modes: [Mode])
        /// The program has to arm the item first, in words.
        case disarmed(String)
        /// The item waits for something to happen, in words.
        case waits(String)
        /// The item is ready. The loop calls it in this pass or the next, unless a handler, or its host, keeps the loop
        /// from that.
        case ready(String)
        /// The item's handler runs, and is not called again before it returns.
        case inHandler

        /// The reason and, where there is one, the remedy, in one sentence.
        public var description: String {
            switch self {
            case .invalid: "It is invalid, and is never called again: make a new one."
            case .loopHasEnded(let ago): "The loop ended \(ago) ago: add it to the loop of a thread that runs."
            case .notAdded(let isElsewhere):
                isElsewhere ? "It is in another loop, not in this one." : "It is in no mode: add it to the loop."
            case .loopDoesNotRun:
                "The loop does not run: its thread has to call run(). A LoopThread does so by itself."
            case .otherMode(let running, let modes):
                "It is in \(modes.map { "mode '\($0)'" }.joined(separator: ", ")), and the loop runs in mode "
                    + "'\(running)': add it to that mode, or to the common modes."
            case .disarmed(let words): "It is not armed: \(words)."
            case .waits(let words): "It waits: \(words)."
            case .ready(let words):
                "It is ready (\(words)), and the loop has not come to it yet: a handler runs, or the loop's host makes "
                    + "no pass."
            case .inHandler: "Its handler runs, and is not called again before that returns."
            }
        }
    }

    /// Explains why an item's handler is not called now. From any thread. The answer describes one moment, since the
    /// loop continues meanwhile.
    ///
    /// ```swift
    /// print(loop.explain(timer))
    /// // It is in mode 'tracking', and the loop runs in mode 'default': add it to that mode, or to the common modes.
    /// ```
    ///
    /// For a limiter, print the limiter: its description contains the explanation of its timer. A hosted loop counts as
    /// running in its hosted mode, even while its host sleeps or is busy. So an item that is due may be `ready`
    /// although no handler runs: the host has made no pass.
    public func explain(_ item: Item) -> Explanation {
        guard item.isValid else { return .invalid }
        if let endTime = lock.withLock({ endTime }) { return .loopHasEnded(ago: endTime.duration(to: now)) }
        let all = item.allModes
        let modes = all.filter { $0.waker === waker && !$0.mode.namesCommonModes }.map(\.mode)
        guard !modes.isEmpty else { return .notAdded(isElsewhere: all.contains { $0.waker !== waker }) }
        let status = item.currentStatus
        if case .inHandler = status { return .inHandler }
        // No run helps.
        if case .disarmed(let words) = status, !item.hasHandler { return .disarmed(words) }
        guard let running = currentMode else { return .loopDoesNotRun }
        guard modes.contains(running) else { return .otherMode(running: running, modes: modes) }
        return switch status {
        case .disarmed(let words): .disarmed(words)
        case .waits(let words): .waits(words)
        case .ready(let words): .ready(words)
        case .inHandler: .inHandler
        }
    }
}
