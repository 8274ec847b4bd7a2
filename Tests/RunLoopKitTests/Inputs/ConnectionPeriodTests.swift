import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Connections that end within a period: see `ConnectionTests`.
@Suite(.timeBound) struct ConnectionPeriodTests {
    private typealias Connection = Loop.Connection

    private final class Ending {
        let (loop, clock) = Loop.inVirtualTime()
        let ends = Ends.sockets()
        let log = Log<String>()
        let start: Loop.Instant
        let connection: Connection

        init() throws {
            start = clock.now
            let (log, clock, start) = (log, clock, start)
            connection = try Connection(owning: ends.reader) { _, event in
                log.add("\(event) after \(start.duration(to: clock.now))")
            }
            ends.isReaderClosed = true
        }

        /// More than the kernel takes.
        func sendMuch() { connection.send([UInt8](repeating: 1, count: 32_000_000)) }
    }

    @Test("After the period a connection is closed, and says what was dropped", arguments: [false, true])
    func periodIsOver(_ isInTwoModes: Bool) throws {
        let ending = try Ending()
        let loop = ending.loop
        loop.add(ending.connection)
        if isInTwoModes { loop.add(ending.connection, in: "other") }
        ending.sendMuch()
        let count = ending.connection.pendingByteCount
        #expect(ending.connection.end(within: .seconds(9)) && ending.connection.end(within: .seconds(3)))
        #expect(ending.connection.end(within: .seconds(5)) && ending.connection.end(within: .seconds(Int64.max)))
        #expect(loop.run(mode: isInTwoModes ? "other" : .default, for: .seconds(2)) == .timedOut)
        #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
        let text = "end(within:): Connection timed out (ETIMEDOUT); \(count) bytes were dropped"
        #expect(ending.log.entries == ["closed(Optional(\(text))) after 3.0 seconds"])
        #expect(!ending.connection.isValid && ending.connection.pendingByteCount == 0)
        #expect(loop.run(mode: "other", for: .seconds(1)) == .finished)
    }

    @Test("A connection that ends in the period leaves no timer")
    func endsInPeriod() throws {
        let ending = try Ending()
        ending.loop.add(ending.connection)
        ending.connection.end(within: .seconds(3))
        finishWriting(ending.ends.writer)
        #expect(ending.loop.run(mode: .default, for: .seconds(20)) == .finished)
        #expect(ending.log.entries == ["closed(nil) after 0.0 seconds"])
    }

    @Test("The peer alone is missing, in no time")
    func noPeriod() throws {
        let ending = try Ending()
        ending.loop.add(ending.connection)
        ending.connection.send([7])
        #expect(ending.connection.end(within: .seconds(-1)))
        #expect(ending.loop.run(mode: .default, for: .seconds(20)) == .finished)
        let text = "end(within:): Connection timed out (ETIMEDOUT); the peer has not finished"
        #expect(ending.log.entries == ["closed(Optional(\(text))) after 0.0 seconds"])
        #expect(readText(ending.ends.writer) == "\u{7}", "the kernel has sent it")
    }

    @Test("A writer to a full pipe is over as soon as the kernel has all of it", arguments: [false, true])
    func fullPipe(_ endsBefore: Bool) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let (ends, log) = (Ends.pipe(), Log<Connection.Event>())
        let connection = try Connection(owning: ends.writer) { _, event in log.add(event) }
        ends.isWriterClosed = true
        while write(ends.writer, "x", 1) == 1 {}
        loop.add(connection)
        #expect(connection.pendingByteCount == 0)
        if endsBefore {
            connection.end()
            loop.run(mode: .default, for: .seconds(1))
        }
        let start = clock.now
        #expect(connection.end(within: .seconds(9)))
        #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
        #expect(log.entries == [.closed(nil)] && start.duration(to: clock.now) == .zero)
    }

    @Test("What waits for a full pipe is dropped after the period")
    func fullPipeWithMore() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let (ends, log) = (Ends.pipe(), Log<String>())
        let connection = try Connection(owning: ends.writer) { _, event in log.add("\(event)") }
        ends.isWriterClosed = true
        while write(ends.writer, "x", 1) == 1 {}
        loop.add(connection)
        connection.send([1, 2])
        let start = clock.now
        #expect(connection.end(within: .seconds(9)))
        #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
        #expect(log.entries.count == 1 && log.entries[0].contains("2 bytes were dropped"))
        #expect(start.duration(to: clock.now) == .seconds(9))
    }

    @Test("A second call counts in the loop and the modes that the connection is in then", arguments: [false, true])
    func movesMeanwhile(_ toOtherLoop: Bool) throws {
        let ending = try Ending()
        let (loop, other) = (ending.loop, toOtherLoop ? Loop(clock: ending.clock) : ending.loop)
        loop.add(ending.connection)
        ending.sendMuch()
        #expect(ending.connection.end(within: .seconds(9)))
        loop.remove(ending.connection)
        other.add(ending.connection, in: "other")
        #expect(ending.connection.end(within: .seconds(3)))
        #expect(other.run(mode: "other", for: .seconds(20)) == .finished)
        #expect(ending.log.entries.count == 1 && ending.log.entries[0].hasSuffix("after 3.0 seconds"))
        #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
        #expect(ending.clock.now == ending.start + .seconds(3))
    }

    @Test("In no loop a period is not counted; a connection that leaves its loop, or is released, reports nothing")
    func periodWithoutLoop() throws {
        let ending = try Ending()
        #expect(!ending.connection.end(within: .zero) && ending.connection.isValid)
        ending.loop.add(ending.connection)
        ending.sendMuch()
        #expect(ending.connection.end(within: .seconds(1)))
        ending.loop.remove(ending.connection)
        let other = Loop(clock: VirtualClock())
        other.add(ending.connection)
        #expect(ending.loop.run(mode: .default, for: .seconds(20)) == .finished)
        #expect(ending.log.entries == [] && !ending.connection.isValid)

        let ends = Ends.sockets()
        var released: Connection? = try Connection(owning: ends.reader) { _, _ in }
        ends.isReaderClosed = true
        ending.loop.add(released!)
        released?.end(within: .seconds(1))
        ending.loop.remove(released!)
        released = nil
        #expect(ending.loop.run(mode: .default, for: .seconds(20)) == .finished)
    }

    @Test("Without a handler, a connection is closed after the period")
    func periodWithoutHandler() throws {
        let ending = try Ending()
        let ends = Ends.sockets()
        let silent = try Connection(owning: ends.reader)
        ends.isReaderClosed = true
        ending.loop.add(silent)
        #expect(silent.end(within: .seconds(1)))
        #expect(ending.loop.run(mode: .default, for: .seconds(20)) == .finished && !silent.isValid)
        ending.connection.invalidate()
        #expect(!ending.connection.end(within: .seconds(1)))
    }

    @Test("A connection that its handler gives to another thread is closed there")
    func closedWhereItIs() throws {
        let (loop, worker, ends) = (Loop(clock: VirtualClock()), try LoopThread(), Ends.sockets())
        let (log, isBusy, gate, isOver) = (Log<String>(), Gate(), Gate(), Gate())
        let connection = try Loop.Connection(owning: ends.reader) { connection, event in
            log.add("\(event), on the worker: \(worker.isCurrent)")
            if event == .peerFinished {
                loop.remove(connection)
                worker.loop.add(connection)
                connection.end()
            }
            if case .closed = event { isOver.open() }
        }
        ends.isReaderClosed = true
        loop.add(connection)
        // So it is not the first.
        worker.perform {
            isBusy.open()
            gate.wait()
        }
        isBusy.wait()
        finishWriting(ends.writer)
        loop.run(mode: .default, for: .seconds(1))
        gate.open()
        isOver.wait()
        #expect(log.entries == ["peerFinished, on the worker: false", "closed(nil), on the worker: true"])
    }

}
