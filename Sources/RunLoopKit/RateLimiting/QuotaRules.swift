/// How many tokens a quota gives: those of a bucket, or at most so many in each of its windows.
enum QuotaRules: Sendable {
    case bucket(TokenBucketRules)
    case windows([Quota.Window])

    /// Takes the tokens if they are there, and nothing if not.
    func answer(taking cost: Int, from tokens: inout QuotaTokens, at now: Int64) -> Quota.Answer {
        switch self {
        case .bucket(let rules):
            let isAllowed = rules.take(cost, from: &tokens.bucket, at: now)
            return rules.answer(isAllowed, cost, tokens.bucket, at: now)
        case .windows:
            let isAllowed = take(cost, from: &tokens, at: now)
            return answer(isAllowed, cost, tokens, at: now)
        }
    }

    /// What that would be.
    func answer(checking cost: Int, in tokens: QuotaTokens, at now: Int64) -> Quota.Answer {
        switch self {
        case .bucket(let rules):
            var copy = tokens.bucket
            return rules.answer(rules.take(cost, from: &copy, at: now), cost, tokens.bucket, at: now)
        case .windows: return answer(wait(for: cost, in: tokens, at: now) == 0, cost, tokens, at: now)
        }
    }

    private func answer(_ isAllowed: Bool, _ cost: Int, _ tokens: QuotaTokens, at now: Int64) -> Quota.Answer {
        Quota.Answer(
            isAllowed, remaining(in: tokens, at: now), wait: isAllowed ? 0 : wait(for: cost, in: tokens, at: now),
            timeToFill: timeToFill(tokens, at: now))
    }

    /// Takes the tokens if they are there, and nothing if not.
    func take(_ cost: Int, from tokens: inout QuotaTokens, at now: Int64) -> Bool {
        switch self {
        case .bucket(let rules): return rules.take(cost, from: &tokens.bucket, at: now)
        case .windows(let windows):
            tokens.makeLogs(of: windows)
            guard windows.allSatisfy({ cost <= $0.tokens }), tokens.earliest(for: cost, at: now) == now else {
                return false
            }
            tokens.append(cost, at: now)
            return true
        }
    }

    /// Takes the tokens even if they are not there.
    func charge(_ cost: Int, to tokens: inout QuotaTokens, at now: Int64) {
        switch self {
        case .bucket(let rules): rules.charge(cost, to: &tokens.bucket, at: now)
        case .windows(let windows):
            tokens.makeLogs(of: windows)
            tokens.append(cost, at: tokens.earliest(for: cost, at: now))
        }
    }

    /// Gives back tokens of an unknown time.
    func giveBack(_ cost: Int, to tokens: inout QuotaTokens, at now: Int64) {
        switch self {
        case .bucket(let rules): rules.giveBack(cost, to: &tokens.bucket, at: now)
        case .windows: tokens.giveBackOldest(cost, at: now)
        }
    }

    /// Gives back tokens that were charged for a time.
    func giveBack(_ cost: Int, ofTime time: Int64, to tokens: inout QuotaTokens, at now: Int64) {
        switch self {
        case .bucket(let rules): rules.giveBack(cost, to: &tokens.bucket, at: now)
        case .windows: tokens.giveBack(cost, ofTime: time, at: now)
        }
    }

    /// Whether a cost can be there at once.
    func canHold(_ cost: Int) -> Bool {
        switch self {
        case .bucket(let rules): cost <= rules.burst
        case .windows(let windows): windows.allSatisfy { cost <= $0.tokens }
        }
    }

    // MARK: Questions

    /// How long until the tokens are there, in nanoseconds; nil if they never are.
    func wait(for cost: Int, in tokens: QuotaTokens, at now: Int64) -> Int64? {
        switch self {
        case .bucket(let rules): rules.wait(for: cost, in: tokens.bucket, at: now)
        case .windows(let windows): longest(of: windows, tokens) { $0.wait(for: cost, at: now) }
        }
    }

    /// How long until nothing is owed; nil if that is never.
    func debt(of tokens: QuotaTokens, at now: Int64) -> Int64? {
        switch self {
        case .bucket(let rules): rules.debt(of: tokens.bucket, at: now)
        case .windows(let windows): longest(of: windows, tokens) { $0.debt(at: now) }
        }
    }

    /// The whole tokens that are there.
    func remaining(in tokens: QuotaTokens, at now: Int64) -> Int {
        switch self {
        case .bucket(let rules): rules.remaining(in: tokens.bucket, at: now)
        case .windows(let windows): tokens.logs(of: windows).map { $0.remaining(at: now) }.min() ?? .max
        }
    }

    /// How long until all tokens are there; nil if that is never.
    func timeToFill(_ tokens: QuotaTokens, at now: Int64) -> Int64? {
        switch self {
        case .bucket(let rules): rules.timeToFill(tokens.bucket, at: now)
        case .windows(let windows): longest(of: windows, tokens) { $0.timeToEmpty(at: now) }
        }
    }

    func isFull(_ tokens: QuotaTokens, at now: Int64) -> Bool {
        switch self {
        case .bucket(let rules): rules.isFull(tokens.bucket, at: now)
        case .windows: tokens.logs.allSatisfy { $0.isEmpty(at: now) }
        }
    }

    /// Whether the tokens behave like new ones.
    func isLikeNew(_ tokens: QuotaTokens, at now: Int64) -> Bool {
        switch self {
        case .bucket(let rules): rules.isLikeNew(tokens.bucket, at: now)
        case .windows: isFull(tokens, at: now)
        }
    }

    /// The longest of the times; nil if one is never over.
    private func longest(
        of windows: [Quota.Window], _ tokens: QuotaTokens, _ time: (WindowLog) -> Int64?
    ) -> Int64? {
        var longest: Int64 = 0
        for log in tokens.logs(of: windows) {
            guard let time = time(log) else { return nil }
            longest = max(longest, time)
        }
        return longest
    }
}

/// What a quota, or one of its keys, has given: all is there at first.
struct QuotaTokens: Sendable {
    var bucket = TokenBucket()
    /// One for each window, once the first tokens were asked for.
    fileprivate(set) var logs: [WindowLog] = []
    /// Whether they were charged with the cost of the task that has its turn, or had the last one. A reset makes new
    /// ones, which were not.
    var wereChargedWithTurn = false

    /// Whether nothing was taken.
    var isNew: Bool { bucket == TokenBucket() && logs.allSatisfy(\.isEmpty) }

    fileprivate func logs(of windows: [Quota.Window]) -> [WindowLog] {
        logs.isEmpty ? windows.map { WindowLog(of: $0) } : logs
    }

    fileprivate mutating func makeLogs(of windows: [Quota.Window]) { if logs.isEmpty { logs = logs(of: windows) } }

    /// When all windows allow a call of that cost.
    fileprivate mutating func earliest(for cost: Int, at now: Int64) -> Int64 {
        var time = now
        for index in logs.indices { time = max(time, logs[index].earliest(for: cost, at: now)) }
        return time
    }

    fileprivate mutating func giveBack(_ cost: Int, ofTime time: Int64, at now: Int64) {
        for index in logs.indices { logs[index].remove(cost, ofTime: time, at: now) }
    }

    /// The oldest that still count anywhere: so in no period are more taken than allowed, whichever tokens they were.
    fileprivate mutating func giveBackOldest(_ cost: Int, at now: Int64) {
        guard let longest = logs.indices.max(by: { logs[$0].period < logs[$1].period }) else { return }
        for part in logs[longest].removeOldest(cost, at: now) {
            for index in logs.indices where index != longest {
                logs[index].remove(part.cost, ofTime: part.time, at: now)
            }
        }
    }

    fileprivate mutating func append(_ cost: Int, at time: Int64) {
        guard cost > 0 else { return }
        for index in logs.indices { logs[index].append(cost, at: time) }
    }
}
