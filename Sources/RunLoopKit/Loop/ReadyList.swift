/// What the kernel reported ready in a mode and no pass has served yet, oldest first.
///
/// It belongs to the mode, not to a run: it survives nested runs, the end of a run and a stop, and is served first when
/// the mode runs again. Touched by the loop's thread only.
struct ReadyList {
    /// Somebody woke the loop.
    static let wakeUp = UInt64.max
    /// A timer may be due.
    static let timers = UInt64.max - 1
    /// Jobs have arrived in the main dispatch queue.
    static let mainQueue = UInt64.max - 2

    private var tokens: [UInt64] = []
    private var next = 0

    var isEmpty: Bool { next == tokens.count }

    mutating func append(_ token: UInt64) {
        // One entry for each of the loop's own: two would cost a pass for nothing.
        if token >= ReadyList.mainQueue, tokens[next...].contains(token) { return }
        tokens.append(token)
    }

    /// Forgets a wake-up that an earlier run has not got to.
    mutating func forgetWakeUp() {
        guard !isEmpty else { return }
        tokens.removeSubrange(..<next)
        next = 0
        tokens.removeAll { $0 == ReadyList.wakeUp }
    }

    /// Forgets those at the front behind which there is nothing, and says whether any is left.
    mutating func hasReady(_ isStillReady: (UInt64) -> Bool) -> Bool {
        while !isEmpty {
            if isStillReady(tokens[next]) { return true }
            _ = popFirst()
        }
        return false
    }

    mutating func popFirst() -> UInt64? {
        guard next < tokens.count else { return nil }
        defer {
            next += 1
            if next == tokens.count {
                tokens.removeAll(keepingCapacity: true)
                next = 0
            }
        }
        return tokens[next]
    }
}
