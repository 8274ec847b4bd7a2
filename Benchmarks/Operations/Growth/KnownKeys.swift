import RunLoopKit

extension GrowingOperation {
    static let knownKeys = GrowingOperation(
        "keyed-debounce-known-keys", "A call for one of so many keys, inside its burst.", count: 2_000
    ) { loop, size in
        let limiter = KeyedDebounce<Int, Int>(interval: .anHour, on: loop) { _, _ in }
        for key in 0..<size { limiter(0, for: key) }
        return { count in for number in 0..<count { limiter(number, for: number % size) } }
    }
}
