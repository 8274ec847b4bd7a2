import RunLoopKit
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Ends the program when nothing has happened in it for a long time, and says what every loop does.
enum Watchdog {
    /// Far longer than anything takes on a busy machine with a sanitizer.
    private static let secondsOfSilence = 60

    private static let loops = Mutex<[(name: String, loop: WeakLoop)]>([])

    private final class WeakLoop: @unchecked Sendable {
        weak let loop: Loop?
        init(_ loop: Loop) { self.loop = loop }
    }

    /// How many of them have not been deallocated.
    static var loopsAlive: Int { loops.withLock { $0.count { $0.loop.loop != nil } } }

    static func watch(_ loop: Loop, _ name: String) {
        loops.withLock {
            $0.removeAll { $0.loop.loop == nil }
            $0.append((name, WeakLoop(loop)))
        }
    }

    /// On a thread that has nothing to do with the library.
    static func start() {
        var thread = pthread_t()
        pthread_create(&thread, nil, { _ in Watchdog.main() }, nil)
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
        // If a lock that a description takes is held for ever, this ends the program all the same.
        alarm(20)
        say(
            "StressProgram: nothing happens any more, in the round of seed \(currentSeed.load(ordering: .relaxed)): "
                + currentStep.withLock { $0 })
        for (name, weak) in loops.withLock({ $0 }) {
            guard let loop = weak.loop else { continue }
            say("\(name): waiting \(loop.isWaiting), \(loop.counters)")
            say("\(loop)")
        }
        abort()
    }

    /// A trap does not know in which round it is.
    static func nameTheRoundWhenTrapped() {
        for signal in [SIGILL, SIGTRAP, SIGABRT] {
            Glibc_signal(signal) { number in
                var digits = currentSeed.load(ordering: .relaxed)
                // No allocation here.
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
                Glibc_signal(number, SIG_DFL)
                raise(number)
            }
        }
    }
}

/// `signal` of the C library, whose name is also a good one for numbers.
private func Glibc_signal(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
    signal(number, handler)
}
private func Glibc_signal(_ number: Int32, _ handler: sighandler_t?) { signal(number, handler) }
