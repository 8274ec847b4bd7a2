import RunLoopKit
import Synchronization

/// Allows so many requests of each key in any period of a given length.
final class Quota<Key: Hashable & Sendable>: Sendable {
    private let limit: Int
    private let period: Duration
    private let loop: Loop
    private let starts = Mutex<[Key: [Loop.Instant]]>([:])

    /// - Parameter loop: Its timer forgets keys.
    init(_ limit: Int, in period: Duration, on loop: Loop) {
        self.limit = limit
        self.period = period
        self.loop = loop
        let sweep = Loop.Timer(every: period) { [weak self] firing in
            guard let self else { return firing.timer.invalidate() }
            forgetQuietKeys()
        }
        loop.add(sweep, in: .common)
    }

    /// Whether to serve a request of this key. On any thread, in any task.
    func allows(_ key: Key) -> Bool {
        starts.withLock { starts in
            let now = loop.now
            starts[key, default: []].removeAll { $0 <= now - period }
            guard starts[key]!.count < limit else { return false }
            starts[key]!.append(now)
            return true
        }
    }

    var keyCount: Int { starts.withLock { $0.count } }

    private func forgetQuietKeys() {
        starts.withLock { starts in
            let oldest = loop.now - period
            starts = starts.filter { $0.value.contains { $0 > oldest } }
        }
    }
}

// In virtual time, which the program moves.
let clock = VirtualClock(.manual)
let loop = Loop(clock: clock)
let quota = Quota<String>(5, in: .seconds(10), on: loop)

let pool = try LoopThreadPool(count: 4)
let served = Atomic(0)
for _ in 1...100 {
    pool.perform {
        guard quota.allows("10.0.0.1") else { return }
        served.add(1, ordering: .relaxed)
    }
}
pool.drainAndWait()
print("0 s: \(served.load(ordering: .relaxed)) of 100 are served")
print("0 s: one of another key: \(quota.allows("10.0.0.2"))")

clock.advance(by: .seconds(9))
print("9 s: one more: \(quota.allows("10.0.0.1"))")
clock.advance(by: .seconds(1))
print("10 s: one more: \(quota.allows("10.0.0.1"))")
print("10 s: \(quota.keyCount) key is remembered")
clock.advance(by: .seconds(20))
print("30 s: \(quota.keyCount) keys are remembered")
