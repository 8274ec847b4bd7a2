import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// What a source reports, and when.
@Suite(.timeBound) struct FileDescriptorReadinessTests {
    private typealias Source = Loop.FileDescriptorSource

    // MARK: Triggers

    @Test("A handler that reads partially is called again for the rest")
    func partialRead() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String>()
        let source = try Source(pipe.reader) { source, ready in
            log.add("\(ready) \(readText(source.descriptor, 2)!)")
        }
        loop.add(source, in: .default)
        pipe.send("abcde")
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == ["readable ab", "readable cd", "readable e"])
    }

    @Test("An edge is reported once until more arrives")
    func edge() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<Source.Readiness>()
        let source = try Source(pipe.reader, trigger: .edge) { _, ready in log.add(ready) }
        loop.add(source, in: .default)
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.readable])
        pipe.send("b")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.readable, .readable])
        source.rearm()
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.count == 3, "still unread")
    }

    @Test("A one-shot source reports once for each re-arming")
    func oneShot() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let calls = Count()
        let source = try Source(pipe.reader, isOneShot: true) { source, _ in
            #expect(!source.isArmed)
            calls.up()
        }
        loop.add(source, in: .default)
        loop.add(source, in: "other")
        loop.perform(in: "other") {}
        loop.run(mode: "other", for: .zero)
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(loop.run(mode: "other", for: .zero) == .timedOut, "it keeps the loop alive, disarmed")
        #expect(calls.value == 1)
        pipe.hangUp()
        loop.run(mode: .default, for: .seconds(1))
        #expect(calls.value == 1, "not even a hang-up")
        source.rearm()
        loop.run(mode: .default, for: .seconds(1))
        loop.run(mode: "other", for: .zero)
        #expect(calls.value == 2)
    }

    // MARK: Interest

    @Test("The interest decides what is reported and can be changed")
    func interest() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let log = Log<Source.Readiness>()
        let source = try Source(sockets.reader) { _, ready in
            log.add(ready)
            Loop.current.stop()
        }
        loop.add(source, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        source.interest = [.read, .write]
        loop.run(mode: .default, for: .seconds(1))
        sockets.send("a")
        loop.run(mode: .default, for: .seconds(1))
        source.interest = .read
        loop.run(mode: .default, for: .seconds(1))
        source.interest = []
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == [.writable, [.readable, .writable], .readable])
    }

    /// A readiness fetched before the interest was changed is reported by the new interest.
    @Test("A fetched report of a removed interest is dropped")
    func staleInterest() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipes = [Ends.pipe(), Ends.pipe(), Ends.pipe()]
        let log = Log<Int>()
        var sources: [Source] = []
        let all = LoopBound([Source](), on: loop)
        for (index, pipe) in pipes.enumerated() {
            sources.append(
                try Source(pipe.reader) { source, _ in
                    log.add(index)
                    all.value[(index + 1) % 3].interest = []
                    all.value[(index + 2) % 3].disarm()
                    source.invalidate()
                })
            loop.add(sources[index], in: .default)
            pipe.send("a")
        }
        all.value = sources
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == [0])
        sources[1].interest = .read
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [0, 1])
        all.value = []
    }

    @Test("A sleeping loop notices a change from another thread")
    func changeWhileAsleep() throws {
        let thread = try LoopThread()
        let pipe = Ends.pipe()
        let calls = Count()
        let source = try Source(pipe.reader, interest: []) { source, _ in
            calls.up()
            source.disarm()
        }
        thread.loop.add(source, in: .default)
        pipe.send("a")
        spin(until: thread.loop.isWaiting)
        #expect(calls.value == 0)
        source.interest = .read
        spin(until: calls.value == 1)
        spin(until: thread.loop.isWaiting)
        source.rearm()
        spin(until: calls.value == 2)
    }

    // MARK: Hang-ups, errors and exceptional conditions

    @Test("Hang-ups and errors are reported whatever the interest")
    func hangUpsAndErrors() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        func watch(_ descriptor: Int32, _ interest: Source.Interest) throws {
            let source = try Source(descriptor, interest: interest) { source, ready in
                log.add("\(source.interest): \(ready)")
                source.invalidate()
            }
            loop.add(source, in: .default)
            loop.run(mode: .default, for: .seconds(1))
        }
        let (deserted, unread, half) = (Ends.pipe(), Ends.pipe(), Ends.sockets())
        deserted.hangUp()
        try watch(deserted.reader, [])
        unread.stopReading()
        try watch(unread.writer, [])
        finishWriting(half.writer)
        try watch(half.reader, .read)
        half.hangUp()
        try watch(half.reader, .write)
        #expect(
            log.entries == [
                "nothing: hangUp", "nothing: error", "read: readable|readHangUp", "write: writable|hangUp",
            ])
    }

    @Test("Out-of-band data is reported to a source with interest in it")
    func outOfBandData() throws {
        let (loop, _) = Loop.inVirtualTime()
        let connection = Ends.connection()
        let log = Log<Source.Readiness>()
        let urgent = try Source(connection.reader, interest: .priority) { source, ready in
            log.add(ready)
            source.disarm()
        }
        loop.add(urgent, in: .default)
        connection.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.isEmpty)
        // Twice: alone, and behind another event that was reported at the same time.
        sendOutOfBand(connection.writer)
        waitUntilUrgent(connection.reader)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.priority])
        let before = try Loop.PortSource { _ in }
        loop.add(before, in: "other")
        loop.add(urgent, in: "other")
        urgent.rearm()
        before.send()
        loop.run(mode: "other", for: .seconds(1))
        #expect(log.entries == [.priority, .priority])
    }

    /// A nested run fetches a report for the source whose handler runs, which then reads the descriptor.
    @Test("The report of an owned descriptor that is fetched inside its handler is asked again after that")
    func reportFetchedInsideTheHandler() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let (first, second) = (Ends.pipe(), Ends.pipe())
        let other = try Source(owning: System.duplicate(first.reader)) { source, _ in
            log.add(readText(source.descriptor, 1) ?? "nothing")
        }
        let nesting = try Source(owning: System.duplicate(second.reader)) { source, _ in
            loop.run(mode: .default, for: .zero)
            log.add(readText(source.descriptor, 1) ?? "nothing")
        }
        loop.add(other)
        loop.add(nesting)
        first.send("ab")
        second.send("c")
        loop.add(Loop.Timer(after: .seconds(1)) { _ in loop.stop() })
        loop.run()
        #expect(log.entries == ["a", "b", "c"])
    }
}
