/// The rules of a token bucket: how many tokens it holds, and how fast they come.
///
/// All of its arithmetic is exact. Tokens come continuously, and a clock has whole nanoseconds, so a bucket counts in
/// *parts*: `tokens` of them come in a nanosecond, and a token is `period` of them. It keeps one number, the time at
/// which it will be full. (The generic cell rate algorithm keeps the same one.)
///
/// A token that falls between two nanoseconds is there at the later one. Who takes it at that very nanosecond loses no
/// part of the next one, even if the bucket is full: so a rate that is no whole number of nanoseconds does not drift.
///
/// Nothing overflows: the two factors of a product are below 2^63, and no sum has more than two products.
struct TokenBucketRules: Hashable, Sendable {
    /// So many come in a period. Without a common divisor with `period`. Zero if none ever come.
    private let tokens: Int64
    /// Zero if all come at once.
    private let period: Int64
    /// How many the bucket holds.
    let burst: Int64

    init(tokens: Int, period: Duration, burst: Int) {
        let (tokens, period) = (Int64(max(0, tokens)), max(0, period.wholeNanoseconds))
        let divisor = tokens == 0 ? period : Self.greatestCommonDivisor(tokens, period)
        self.tokens = tokens == 0 ? 0 : tokens / divisor
        self.period = tokens == 0 ? 1 : period / divisor
        self.burst = Int64(max(0, burst))
    }

    private static func greatestCommonDivisor(_ first: Int64, _ second: Int64) -> Int64 {
        var (first, second) = (first, second)
        while second != 0 { (first, second) = (second, first % second) }
        return first
    }

    /// How long the first token after an empty bucket takes to come; the end of time if none ever comes.
    var interval: Int64 { duration(Int128(period)) ?? .max }

    /// The parts that a bucket lacks. Negative, but by less than a token, in the nanosecond in which it becomes full.
    private func lack(_ bucket: TokenBucket, at now: Int64) -> Int128 {
        isLikeNew(bucket, at: now) ? 0 : bucket.fullTime - time(now)
    }

    /// Whether a bucket behaves like a new one.
    func isLikeNew(_ bucket: TokenBucket, at now: Int64) -> Bool {
        time(now) - bucket.fullTime >= Int128(max(1, min(tokens, period)))
    }

    private func parts(_ cost: Int) -> Int128 { Int128(max(0, cost)) * Int128(period) }

    private func time(_ now: Int64) -> Int128 { Int128(now) * Int128(tokens) }

    /// How long so many parts take to come, rounded up; nil if they never do.
    private func duration(_ parts: Int128) -> Int64? {
        if parts <= 0 { return 0 }
        guard tokens > 0 else { return nil }
        return Int64(clamping: (parts - 1).quotient(by: tokens) + 1)
    }

    // MARK: Events

    /// Takes the tokens if they are there, and nothing if not.
    ///
    /// - Parameter least: How many must be there, if fewer than the cost.
    func take(_ cost: Int, ifThereAre least: Int? = nil, from bucket: inout TokenBucket, at now: Int64) -> Bool {
        let least = least ?? cost
        guard least <= burst, lack(bucket, at: now) + parts(least) <= parts(Int(burst)) else { return false }
        charge(cost, to: &bucket, at: now)
        return true
    }

    /// Takes the tokens even if they are not there.
    func charge(_ cost: Int, to bucket: inout TokenBucket, at now: Int64) {
        let lack = min(lack(bucket, at: now) + parts(cost), TokenBucket.greatestLack)
        if lack > 0 { bucket.fullTime = time(now) + lack }
    }

    func giveBack(_ cost: Int, to bucket: inout TokenBucket, at now: Int64) {
        guard cost > 0 else { return }
        let lack = lack(bucket, at: now) - parts(cost)
        bucket = TokenBucket()
        if lack > 0 { bucket.fullTime = time(now) + lack }
    }

    // MARK: Questions

    /// How long until the tokens are there, in nanoseconds; nil if they never are. More than the bucket holds never
    /// are.
    func wait(for cost: Int, in bucket: TokenBucket, at now: Int64) -> Int64? {
        cost > burst ? nil : duration(lack(bucket, at: now) + parts(cost) - parts(Int(burst)))
    }

    /// How long until a bucket owes nothing.
    func debt(of bucket: TokenBucket, at now: Int64) -> Int64? {
        duration(lack(bucket, at: now) - parts(Int(burst)))
    }

    /// The whole tokens in a bucket.
    func remaining(in bucket: TokenBucket, at now: Int64) -> Int {
        let rest = parts(Int(burst)) - lack(bucket, at: now)
        guard period > 0 else { return Int(burst) }
        return rest < 0 ? 0 : Int(rest.quotient(by: period))
    }

    /// How long until a bucket is full; nil if it never is.
    func timeToFill(_ bucket: TokenBucket, at now: Int64) -> Int64? { duration(lack(bucket, at: now)) }

    func isFull(_ bucket: TokenBucket, at now: Int64) -> Bool { lack(bucket, at: now) <= 0 }
}

extension TokenBucketRules {
    func answer(_ isAllowed: Bool, _ cost: Int, _ bucket: TokenBucket, at now: Int64) -> Quota.Answer {
        Quota.Answer(
            isAllowed, remaining(in: bucket, at: now), wait: isAllowed ? 0 : wait(for: cost, in: bucket, at: now),
            timeToFill: timeToFill(bucket, at: now))
    }
}

/// What a token bucket is made with.
struct BucketSettings: Sendable {
    let rules: TokenBucketRules
    private let tokens: Int
    private let period: Duration

    init(_ tokens: Int, _ period: Duration, _ burst: Int) {
        rules = TokenBucketRules(tokens: tokens, period: period, burst: burst)
        (self.tokens, self.period) = (tokens, period)
    }

    /// For people.
    var rate: String { "\(tokens) per \(period), burst \(rules.burst)" }
}

/// A bucket that is full at first.
struct TokenBucket: Hashable, Sendable {
    /// As a product, the largest number of parts: more than three thousand years at a token a second.
    fileprivate static var greatestLack: Int128 { Int128(Int64.max) * Int128(Int64.max) }

    /// When it is full, in nanoseconds times the tokens of a period. Before any time that a clock shows, at first.
    fileprivate(set) var fullTime = Int128(-1) << 126
}

extension Int128 {
    /// Of numbers that are not negative. Most fit into 64 bits, for which a division takes a fourth of the time.
    fileprivate func quotient(by divisor: Int64) -> Int128 {
        if let small = Int64(exactly: self) { return Int128(small / divisor) }
        return self / Int128(divisor)
    }
}
