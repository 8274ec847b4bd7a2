import LoopTestSupport
import Testing

@testable import RunLoopKit

/// Which signals the hub remembers for each source. The signals are sent to the test's own thread, which blocks them,
/// so that other tests are unaffected.
@Suite(.timeBound) struct SignalHubTests {
    private typealias Inbox = SignalHub.Inbox

    /// A hub that blocks a signal on the calling thread, and two listeners.
    private func hub(_ signal: Int32) throws -> (hub: SignalHub, reader: Inbox, other: Inbox) {
        let hub = SignalHub()
        try hub.block(signal)
        let (reader, other) = (try Inbox(signal, pendingLimit: 10), try Inbox(signal, pendingLimit: 10))
        hub.add(reader)
        hub.add(other)
        return (hub, reader, other)
    }

    @Test("An ordinary signal is remembered once for a source that does not look")
    func ordinarySignal() throws {
        try onThreadOfItsOwn {
            let (hub, reader, other) = try hub(Signals.user2)
            defer { hub.unblock(Signals.user2) }
            for _ in 0..<1000 {
                Signals.send(Signals.user2)
                #expect(hub.collect(for: reader) && hub.takeArrivals(of: reader).count == 1)
            }
            #expect(hub.takeArrivals(of: other).count == 1)
            Signals.send(Signals.user2)
            #expect(hub.collect(for: reader) && hub.takeArrivals(of: other).count == 1, "and once more")
        }
    }

    @Test("Real-time signals are remembered up to the limit")
    func realTimeSignals() throws {
        try onThreadOfItsOwn {
            let (hub, reader, other) = try hub(Signals.realTime)
            defer { hub.unblock(Signals.realTime) }
            var heard = 0
            for _ in 0..<10 {
                for _ in 0..<3 { Signals.send(Signals.realTime) }
                #expect(hub.collect(for: reader))
                heard += hub.takeArrivals(of: reader).count
            }
            #expect(heard == 30 && hub.takeArrivals(of: other).count == 10)
            for _ in 0..<3 { Signals.send(Signals.realTime) }
            #expect(hub.collect(for: other) && hub.takeArrivals(of: other).count == 3)
        }
    }

    @Test("Signals that a source has not reported are dropped with it")
    func unreportedSignals() throws {
        try onThreadOfItsOwn {
            let (hub, reader, other) = try hub(Signals.realTime)
            defer { hub.unblock(Signals.realTime) }
            Signals.send(Signals.realTime)
            #expect(hub.collect(for: reader) && other.arrivals.count == 1)
            hub.remove(other)
            #expect(other.arrivals.isEmpty && hub.takeArrivals(of: other).isEmpty)
            Signals.send(Signals.realTime)
            #expect(hub.collect(for: reader) && other.arrivals.isEmpty)
            #expect(hub.takeArrivals(of: reader).count == 2)
        }
    }

    @Test("The last source for a signal leaves the thread's mask as the first one found it", arguments: [false, true])
    func mask(wasBlocked: Bool) throws {
        try onThreadOfItsOwn {
            if wasBlocked { Signals.block(Signals.realTime) } else { Signals.unblock(Signals.realTime) }
            let sources = try (0..<2).map { _ in
                try Loop.SignalSource(Signals.realTime, checkingThreads: false) { _, _ in }
            }
            for source in sources { source.invalidate() }
            #expect(Signals.isBlocked(Signals.realTime) == wasBlocked)
        }
    }

    /// The thread still runs, but its loop takes no more signals: those counted for it no longer count.
    @Test("A thread whose mask cannot be restored starts over")
    func unrestorableMask() throws {
        let (thread, other) = (try LoopThread(), try LoopThread())
        try thread.performAndWait {
            let first = try Loop.SignalSource(Signals.realTime, checkingThreads: false) { _, _ in }
            #expect(Signals.isBlocked(Signals.realTime))
            thread.stop()
            try other.performAndWait { first.invalidate() }
            #expect(Signals.isBlocked(Signals.realTime), "only the thread itself could unblock it")
            Signals.unblock(Signals.realTime)
            let second = try Loop.SignalSource(Signals.realTime, checkingThreads: false) { _, _ in }
            #expect(Signals.isBlocked(Signals.realTime))
            second.invalidate()
            #expect(!Signals.isBlocked(Signals.realTime))
        }
    }
}
