import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Reports of a signal source that hold no more when their turn comes.
@Suite(.timeBound) struct SignalReportTests {
    /// Each run has the source listed behind a descriptor, whose handler runs the loop in the next mode.
    @Test("A signal that a nested run has served is no missing descriptor, in however many outer runs it is listed")
    func servedByNestedRun() async {
        await #expect(processExitsWith: .success) {
            let (loop, count) = (Loop.inVirtualTime().0, Count())
            let modes = (0..<5).map { Loop.Mode("mode \($0)") }
            let source = try Loop.SignalSource(SIGUSR1) { _, arrivals in count.upBy(arrivals.count) }
            let ends = modes.dropLast().map { _ in Ends.pipe() }
            for (index, ends) in ends.enumerated() {
                ends.send("x")
                let reader = try Loop.FileDescriptorSource(ends.reader) { source, _ in
                    source.invalidate()
                    loop.run(mode: modes[index + 1], for: .seconds(Int64.max))
                }
                loop.add(reader, in: modes[index])
            }
            for mode in modes {
                loop.add(source, in: mode)
                // Nothing else ends the run in this mode.
                loop.add(Loop.Timer(after: .seconds(1)) { _ in loop.stop() }, in: mode)
            }
            // To this thread, so that it has arrived when the call returns.
            Signals.unblock(SIGUSR1)
            pthread_kill(pthread_self(), SIGUSR1)
            loop.run(mode: modes[0], for: .seconds(Int64.max))
            precondition(count.value == 1, "The signal was reported \(count.value) times.")
            _exit(0)
        }
    }
}
