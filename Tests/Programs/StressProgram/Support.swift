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

/// A number that any thread changes. Relaxed: only sums are looked at, after all threads have been waited for.
final class Sum: Sendable {
    private let sum = Atomic<Int>(0)
    func add(_ step: Int) { sum.add(step, ordering: .relaxed) }
    var value: Int { sum.load(ordering: .relaxed) }
}

/// Which round this is: all that it takes to play it again, as far as threads can be played again.
let currentSeed = Atomic<UInt64>(0)

/// What the program does now, for whoever finds it hanging.
let currentStep = Mutex("start")

/// Something grows for as long as anything happens.
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

/// A law.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
    guard !condition else { return }
    say(
        "StressProgram: \(message())\nin the round of seed \(currentSeed.load(ordering: .relaxed)): "
            + currentStep.withLock { $0 })
    exit(1)
}

/// Waits for what other threads are about to bring about; the watchdog ends it if they do not.
func wait(for what: String, until condition: () -> Bool) {
    step("waits for \(what)")
    while !condition() { usleep(50) }
}
