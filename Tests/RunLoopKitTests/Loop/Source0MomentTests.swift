import LoopTestSupport
import Testing

@testable import RunLoopKit

/// Signals of version-0 sources before the source is in a loop, or while it is being invalidated.
@Suite(.timeBound) struct Source0MomentTests {
    @Test("Adding a signalled source wakes the loop")
    func addingWakes() throws {
        let thread = try LoopThread()
        let performed = Count()
        for round in 1...50 {
            let source = Loop.Source0 { performed.up() }
            source.signal()
            spin(until: thread.loop.waker.isAsleep)
            thread.loop.add(source, in: .default)
            spin(until: performed.value == round)
            source.invalidate()
        }
    }

    @Test("Adding a source that was signalled without waking does not wake the loop")
    func addingDoesNotWake() throws {
        let thread = try LoopThread()
        let performed = Count()
        let source = Loop.Source0 { performed.up() }
        source.signal(wake: false)
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters
        thread.loop.add(source, in: .default)
        // Not the waits: a loop counts one when it has marked itself asleep.
        let after = thread.loop.counters
        #expect(after.passes == before.passes && after.wakeWrites == before.wakeWrites)
        #expect(thread.loop.waker.isAsleep && performed.value == 0)
        thread.loop.wakeUp()
        spin(until: performed.value == 1)
    }

    /// A loop that is about to sleep gets the source, and would sleep to its limit.
    @Test("A source that was signalled twice wakes its loop if one of the signals wakes", arguments: [true, false])
    func signalledTwice(wakesFirst: Bool) {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<Loop.Instant>()
        let source = Loop.Source0 { log.add(loop.now) }
        source.signal(wake: wakesFirst)
        source.signal(wake: !wakesFirst)
        loop.add(Loop.Timer(after: .seconds(3600)) { _ in })
        loop.add(Loop.Observer(.beforeWaiting, repeats: false) { _, _ in loop.add(source) })
        loop.run(mode: .default, for: .seconds(10))
        #expect(log.entries == [seconds(0)])
    }

    /// The pass has collected both before the second one becomes invalid, and that one's handlers have not been
    /// released yet: another thread is inside its cancel handler.
    @Test("A source that is being invalidated is not performed")
    func sourceBeingInvalidated() throws {
        let (thread, other) = (try LoopThread(), try LoopThread())
        let (isInvalid, isOver, performed) = (Gate(), Gate(), Count())
        let second = Loop.Source0(
            order: 2,
            cancel: { _, _ in
                isInvalid.open()
                isOver.wait()
            }, perform: { performed.up() })
        let first = Loop.Source0(order: 1) {
            other.perform { second.invalidate() }
            isInvalid.wait()
        }
        try thread.performAndWait {
            for source in [first, second] {
                Loop.current.add(source)
                source.signal()
            }
        }
        try thread.performAndWait { #expect(performed.value == 0) }
        // Two passes later; only now are its handlers released.
        try thread.performAndWait { #expect(performed.value == 0) }
        isOver.open()
    }
}
