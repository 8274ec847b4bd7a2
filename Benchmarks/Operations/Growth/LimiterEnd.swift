import RunLoopKit

extension GrowingOperation {
    static let limiterEnd = GrowingOperation(
        "debounce-cancel", "A burst of one call begins and is cancelled while so many other limiters wait."
    ) { loop, size in
        let others = (0..<size).map { _ in Debounce<Int>(interval: .anHour, on: loop) { _ in } }
        for other in others { other(0) }
        let limiter = Debounce<Int>(interval: .anHour, on: loop) { _ in }
        return { count in
            withExtendedLifetime(others) {
                for number in 0..<count {
                    limiter(number)
                    limiter.cancel()
                }
            }
        }
    }
}
