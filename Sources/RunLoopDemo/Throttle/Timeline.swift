/// The calls, and each lane's actions.
struct Timeline {
    /// A limiter acted on a call, at once or later.
    struct Action {
        /// Since the start.
        let time: Duration
        let call: Call
    }

    let interval: Duration
    private(set) var calls: [Call] = []
    private(set) var actions: [Lane: [Action]] = [:]

    /// Including forgotten calls.
    private(set) var callCount = 0
    private(set) var actionCounts: [Lane: Int] = [:]

    init(interval: Duration) { self.interval = interval }

    mutating func add(_ call: Call) {
        calls.append(call)
        callCount += 1
    }

    mutating func add(_ action: Action, in lane: Lane) {
        actions[lane, default: []].append(action)
        actionCounts[lane, default: 0] += 1
    }

    /// Forgets everything before `time`, except the counts and each lane's last action, whose window may continue.
    mutating func forget(before time: Duration) {
        calls.removeAll { $0.time < time }
        for lane in Lane.allCases {
            guard let last = actions[lane]?.last?.call.value else { continue }
            actions[lane]?.removeAll { $0.time < time && $0.call.value != last }
        }
    }

    func actions(of lane: Lane) -> [Action] { actions[lane] ?? [] }

    /// The last thing that happened.
    var end: Duration {
        let lastAction = actions.values.compactMap { $0.last?.time }.max() ?? .zero
        return max(calls.last?.time ?? .zero, lastAction)
    }

    // MARK: Windows

    /// The times in which a lane's limiter holds calls back: after an action on the leading edge those in which it does
    /// not act again, before one on the trailing edge those in which it collects.
    ///
    /// - Parameter now: The end of windows that are not over yet.
    func windows(of lane: Lane, now: Duration) -> [ClosedRange<Duration>] {
        switch lane {
        case .everyCall: []
        case .throttleLeading, .throttleBoth: actions(of: lane).map { $0.time...$0.time + interval }
        case .debounceLeading: quietWindows(of: lane)
        case .throttleTrailing, .debounceTrailing, .debounceMaxWait: collectingWindows(of: lane, now: now)
        }
    }

    /// From each action until there was no call for an interval.
    private func quietWindows(of lane: Lane) -> [ClosedRange<Duration>] {
        let actions = actions(of: lane)
        var rest = calls[...]
        return actions.indices.map { index in
            let next = index + 1 < actions.count ? actions[index + 1].call.value : .max
            let burst = rest.prefix { $0.value < next }
            rest = rest.dropFirst(burst.count)
            // The thread may stand still for longer than an interval between the last call and its action.
            let start = actions[index].time
            return start...max(burst.last?.time ?? start, start) + interval
        }
    }

    /// From the first call after an action to the next action, or until now if that has not come.
    private func collectingWindows(of lane: Lane, now: Duration) -> [ClosedRange<Duration>] {
        var rest = calls[...]
        var windows: [ClosedRange<Duration>] = []
        for action in actions(of: lane) {
            let collected = rest.prefix { $0.value <= action.call.value }
            rest = rest.dropFirst(collected.count)
            windows.append((collected.first ?? action.call).time...action.time)
        }
        if let first = rest.first, first.time < now { windows.append(first.time...now) }
        return windows
    }
}
