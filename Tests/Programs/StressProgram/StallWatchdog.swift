import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Ends the program when its threads have made no progress for a long time, and prints the state of every loop.
enum StallWatchdog {
    /// Far longer than any operation takes on a busy machine with a sanitizer.
    private static let secondsOfSilence = 60

    private static let loops = Mutex<[(name: String, loop: WeakLoop)]>([])

    private final class WeakLoop: @unchecked Sendable {
        weak let loop: Loop?
        init(_ loop: Loop) { self.loop = loop }
    }

    /// How many of the watched loops have not been deallocated.
    static var loopsAlive: Int { loops.withLock { $0.count { $0.loop.loop != nil } } }

    static func watch(_ loop: Loop, _ name: String) {
        loops.withLock {
            $0.removeAll { $0.loop.loop == nil }
            $0.append((name, WeakLoop(loop)))
        }
    }

    /// Starts the thread that watches. It does not use the library.
    static func start() {
        var thread = pthread_t()
        pthread_create(&thread, nil, { _ in StallWatchdog.main() }, nil)
        pthread_detach(thread)
    }

    private static func main() -> Never {
        var last = -1
        var silence = 0
        while true {
            sleep(1)
            let now = heartbeat.load(ordering: .relaxed)
            silence = now == last ? silence + 1 : 0
            last = now
            if silence >= secondsOfSilence { report() }
        }
    }

    private static func report() -> Never {
        // The descriptions take locks; if one is held for ever, the alarm ends the program.
        alarm(20)
        say(
            "StressProgram: no progress, in the round of seed \(currentSeed.load(ordering: .relaxed)): "
                + currentStep.withLock { $0 })
        for (name, weak) in loops.withLock({ $0 }) {
            guard let loop = weak.loop else { continue }
            say("\(name): waiting \(loop.isWaiting), \(loop.counters)")
            say("\(loop)")
        }
        abort()
    }

    /// Prints the seed of the round when the program traps.
    static func nameTheRoundWhenTrapped() {
        for signal in [SIGILL, SIGTRAP, SIGABRT] {
            setHandler(signal) { number in
                var digits = currentSeed.load(ordering: .relaxed)
                // A signal handler must not allocate.
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { bytes in
                    var index = 31
                    bytes[index] = 10
                    repeat {
                        index -= 1
                        bytes[index] = UInt8(48 + digits % 10)
                        digits /= 10
                    } while digits > 0
                    let text: StaticString = "StressProgram: trapped in the round of seed "
                    write(2, text.utf8Start, text.utf8CodeUnitCount)
                    write(2, bytes.baseAddress! + index, 32 - index)
                }
                setHandler(number, SIG_DFL)
                raise(number)
            }
        }
    }
}

/// The C library's `signal`, a name that the loop over signal numbers shadows.
private func setHandler(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
    signal(number, handler)
}
private func setHandler(_ number: Int32, _ handler: sighandler_t?) { signal(number, handler) }
