@testable import RunLoopKit

/// A quota by key on a clock in virtual time, and the laws of its answers.
///
/// The quota of each key answers as a vessel into which tokens drop. In no time are more allowed than the vessel holds
/// and than have come meanwhile. A key is kept while its quota is not full, and forgotten by later calls; a key that is
/// forgotten is released without a lock, and its deinit may call the quota. The quota outlives its loop.
final class LawQuota: @unchecked Sendable {
    static let (keys, burst) = (3, 4)
    /// Not a whole number of nanoseconds for each token.
    private static let (tokens, period) = (3, 100_000)

    unowned let player: LawPlayer
    private let clock: VirtualClock
    /// Nil once it was released.
    private var quota: KeyedQuota<Key>?
    private var vessels = Array(repeating: Vessel(), count: LawQuota.keys)
    private var keysAlive = 0
    private var callsInProgress = 0

    init(on loop: Loop, _ player: LawPlayer) {
        (self.player, clock) = (player, player.clock)
        quota = KeyedQuota(
            LawQuota.tokens, per: .nanoseconds(LawQuota.period), burst: LawQuota.burst, on: loop)
    }

    // MARK: The model

    /// The tokens of one key. It counts in parts, of which a token has `period`, and `tokens` come in a nanosecond.
    private struct Vessel {
        static let capacity = burst * period

        private var parts = capacity
        private var time: Int64 = 0
        /// What was allowed since the vessel was full at first, and nothing else has changed it.
        private var allowed: [(time: Int64, cost: Int)] = []

        var isFull: Bool { parts >= Vessel.capacity }
        /// Negative if it owes any.
        var wholeTokens: Int { parts >= 0 ? parts / period : -((period - 1 - parts) / period) }

        mutating func fill(until now: Int64) {
            parts += Int(now - time) * tokens
            time = now
            // The first token of the nanosecond in which it becomes full is not lost.
            if parts - Vessel.capacity >= tokens { parts = Vessel.capacity }
        }

        /// The nanoseconds until it has so many parts.
        func wait(for wanted: Int) -> Duration { .nanoseconds(max(0, (wanted - parts + tokens - 1) / tokens)) }

        func allows(_ cost: Int) -> Bool { cost <= burst && parts >= cost * period }

        mutating func take(_ cost: Int) {
            parts -= cost * period
            allowed.append((time, cost))
        }

        mutating func reserve(_ cost: Int) {
            parts -= cost * period
            allowed = []
        }

        mutating func giveBack(_ cost: Int) {
            if cost > 0 { parts = min(parts + cost * period, Vessel.capacity) }
            allowed = []
        }

        /// Whether no time has more than a burst and what came in it.
        var isWithinLimits: Bool {
            var (cost, isWithin) = (0, true)
            for call in allowed.reversed() {
                cost += call.cost
                isWithin = isWithin && cost * period < burst * period + (Int(time - call.time) + 1) * tokens
            }
            return isWithin
        }
    }

    func state(of script: Int) -> LawProgram.State {
        let vessel = filledVessel(of: script)
        if vessel.isFull { return .full }
        return vessel.wholeTokens > 0 ? .used : vessel.wholeTokens == 0 ? .exhausted : .owing
    }

    private func filledVessel(of script: Int) -> Vessel {
        let number = script % LawQuota.keys
        vessels[number].fill(until: clock.now.nanoseconds)
        return vessels[number]
    }

    // MARK: Calls

    /// Each script has a key of its own. The model changes before the call, in which a key's deinit may call again.
    func operate(_ operation: LawProgram.Operation, _ script: Int, _ cost: Int) {
        guard let quota else { return }
        let number = script % LawQuota.keys
        let vessel = filledVessel(of: script)
        var key = Key(number, script, self)
        callsInProgress += 1
        switch operation {
        case .take:
            let isAllowed = vessel.allows(cost)
            if isAllowed { vessels[number].take(cost) }
            let after = vessels[number]
            check(quota.take(cost, for: key), isAllowed, cost, after)
        case .check: check(quota.check(cost, for: key), vessel.allows(cost), cost, vessel)
        case .reserve:
            vessels[number].reserve(cost)
            let expected = vessels[number].wait(for: 0)
            let answer = quota.reserve(cost, for: key)
            player.expect(answer == expected, "\(self): reserves \(cost) after \(answer as Any), not \(expected)")
        case .giveBack:
            vessels[number].giveBack(cost)
            quota.giveBack(cost, for: key)
        case .reset:
            vessels[number] = Vessel()
            quota.reset(key)
        default:
            vessels = vessels.map { _ in Vessel() }
            quota.resetAll()
        }
        callsInProgress -= 1
        key.endCall()
    }

    private func check(_ answer: Quota.Answer, _ isAllowed: Bool, _ cost: Int, _ vessel: Vessel) {
        player.expect(answer.isAllowed == isAllowed, "\(self): \(cost) tokens: \(answer), and allowed: \(isAllowed)")
        player.expect(
            answer.remaining == max(0, vessel.wholeTokens), "\(self): \(answer), and \(vessel.wholeTokens) are left")
        let retry: Duration? =
            isAllowed ? .zero : cost > LawQuota.burst ? nil : vessel.wait(for: cost * LawQuota.period)
        player.expect(answer.retryAfter == retry, "\(self): \(answer), not after \(retry as Any)")
        let full = vessel.wait(for: Vessel.capacity)
        player.expect(answer.fullAfter == full, "\(self): full after \(answer.fullAfter as Any), not \(full)")
    }

    /// A key, with an object that shows its release.
    struct Key: Hashable, Sendable {
        private let number: Int
        private var token: Token

        init(_ number: Int, _ script: Int, _ owner: LawQuota) {
            self.number = number
            token = Token(script, owner)
        }

        static func == (one: Key, other: Key) -> Bool { one.number == other.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }

        /// The call has returned. The caller now releases its copy, which plays nothing.
        mutating func endCall() {
            let isKept = !isKnownUniquelyReferenced(&token)
            token.isKept = isKept
        }
    }

    private final class Token: @unchecked Sendable {
        private let script: Int
        private unowned let owner: LawQuota
        /// Whether the quota had it when the call returned.
        var isKept = false

        init(_ script: Int, _ owner: LawQuota) {
            (self.script, self.owner) = (script, owner)
            owner.keysAlive += 1
        }

        deinit {
            Lock.assertNoneHeld()
            owner.keysAlive -= 1
            if isKept, owner.callsInProgress > 0 { owner.play(script) }
        }
    }

    /// The quota has forgotten a key.
    private func play(_ script: Int) {
        player.enter(.release(of: self))
        if player.program.scripts.indices.contains(script) { player.play(script: script) }
        player.leave()
    }

    // MARK: Laws

    func checkItself() {
        guard let quota else { return }
        for key in vessels.indices {
            vessels[key].fill(until: clock.now.nanoseconds)
            player.expect(vessels[key].isWithinLimits, "\(self): has allowed too many for key \(key)")
        }
        let used = vessels.count { !$0.isFull }
        player.expect(quota.keyCount == used, "\(self): \(quota.keyCount) keys are not full, and it should be \(used)")
        guard callsInProgress == 0 else { return }
        let kept = quota.rememberedCount
        player.expect(kept == keysAlive, "\(self): has \(kept) keys, and \(keysAlive) are not released")
        player.expect(kept >= used && kept <= LawQuota.keys, "\(self): has \(kept) keys, of which \(used) are in use")
    }

    /// Keys that are idle are forgotten by calls for another one.
    func goQuiet() {
        checkItself()
        clock.advance(by: .milliseconds(10))
        for _ in 0..<LawQuota.keys { operate(.take, 0, 0) }
        player.expect(keysAlive == 0, "\(self): keeps \(keysAlive) idle keys")
    }

    /// The loop has ended, which the quota does not notice.
    func checkTheEnd() {
        guard callsInProgress == 0 else { return }
        operate(.take, 0, 1)
        checkItself()
        quota = nil
        player.expect(keysAlive == 0, "\(self): \(keysAlive) keys not released")
    }
}

extension LawQuota: CustomStringConvertible {
    var description: String { "the quota by key" }
}
