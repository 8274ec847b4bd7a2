import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A lock that ThreadSanitizer understands.
final class Mutex<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: Value

    init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}

/// A number that any thread changes. Relaxed: only sums are read, after all threads have been waited for.
final class Sum: Sendable {
    private let sum = Atomic<Int>(0)
    func add(_ step: Int) { sum.add(step, ordering: .relaxed) }
    var value: Int { sum.load(ordering: .relaxed) }
}

/// The seed of the current round, which replays it as far as threads can be replayed.
let currentSeed = Atomic<UInt64>(0)

/// The current step, for the report of a hang.
let currentStep = Mutex("start")

/// Grows with every event.
let heartbeat = Atomic<Int>(0)

func beat() { heartbeat.add(1, ordering: .relaxed) }

func step(_ name: String) {
    currentStep.withLock { $0 = name }
    beat()
}

func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(2, bytes, bytes.count)
}

/// Checks a law.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
    guard !condition else { return }
    say(
        "StressProgram: \(message())\nin the round of seed \(currentSeed.load(ordering: .relaxed)): "
            + currentStep.withLock { $0 })
    exit(1)
}

/// Waits for an effect of other threads; the watchdog ends the program if it does not come.
func wait(for what: String, until condition: () -> Bool) {
    step("waits for \(what)")
    while !condition() { usleep(50) }
}
