import RunLoopKit
import Synchronization

// In virtual time, which the program moves. In a server: without `clock:`.
let clock = VirtualClock(.manual)
let requests = KeyedQuota<String>(5, per: .seconds(10), clock: clock)

let pool = try LoopThreadPool(count: 4)
let served = Atomic(0)
for _ in 1...100 {
    pool.perform {
        guard requests.take(for: "10.0.0.1").isAllowed else { return }
        served.add(1, ordering: .relaxed)
    }
}
pool.drainAndWait()
print("0 s: \(served.load(ordering: .relaxed)) of 100 are served")
print("0 s: one of another key: \(requests.take(for: "10.0.0.2"))")
print("0 s: one more: \(requests.take(for: "10.0.0.1"))")

clock.advance(by: .seconds(2))
print("2 s: one more: \(requests.take(for: "10.0.0.1"))")
print("2 s: \(requests.keyCount) key is not full")
clock.advance(by: .seconds(10))
print("12 s: \(requests.keyCount) keys are not full")
