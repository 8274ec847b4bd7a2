import RunLoopKit

/// A limiter that is shown: one of seven, each called with the same events.
enum Lane: String, CaseIterable {
    case everyCall = "every call"
    case throttleLeading = "throttle leading"
    case throttleTrailing = "throttle trailing"
    case throttleBoth = "throttle both"
    case debounceTrailing = "debounce trailing"
    case debounceLeading = "debounce leading"
    case debounceMaxWait = "debounce maxWait"

    enum Family {
        case unlimited, throttle, debounce
    }

    var name: String { rawValue }

    var family: Family {
        switch self {
        case .everyCall: .unlimited
        case .throttleLeading, .throttleTrailing, .throttleBoth: .throttle
        case .debounceTrailing, .debounceLeading, .debounceMaxWait: .debounce
        }
    }

    /// How many intervals the last lane's `maxWait` is.
    static let intervalsInMaxWait = 3

    /// Makes the lane's limiter, and returns a function that calls and retains it.
    func makeLimiter(
        interval: Duration, on loop: Loop, action: @escaping @Sendable (Call) -> Void
    ) -> (Call) -> Void {
        func throttle(_ edges: RateLimitEdges) -> (Call) -> Void {
            let limiter = Throttle(interval: interval, edges: edges, on: loop, action: action)
            return { limiter($0) }
        }
        func debounce(_ edges: RateLimitEdges, maxWait: Duration? = nil) -> (Call) -> Void {
            let limiter = Debounce(interval: interval, edges: edges, maxWait: maxWait, on: loop, action: action)
            return { limiter($0) }
        }
        return switch self {
        case .everyCall: action
        case .throttleLeading: throttle(.leading)
        case .throttleTrailing: throttle(.trailing)
        case .throttleBoth: throttle([.leading, .trailing])
        case .debounceTrailing: debounce(.trailing)
        case .debounceLeading: debounce(.leading)
        case .debounceMaxWait: debounce(.trailing, maxWait: interval * Lane.intervalsInMaxWait)
        }
    }
}

/// An event, with which every lane's limiter is called.
struct Call: Equatable, Sendable {
    /// Since the start.
    let time: Duration

    /// The limiter's input: 1, 2, 3, …
    let value: Int
}
