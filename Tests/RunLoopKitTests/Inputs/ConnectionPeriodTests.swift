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
        // After the end, as it waits, and while the loop serves it.
        for _ in 0..<2 {
            ending.ends.send("late")
            loop.run(mode: .default, for: .milliseconds(10))
        }
        #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
        let text =
            "end(within:): Connection timed out (ETIMEDOUT); \(count) bytes were dropped, "
            + "and 8 of the peer's were not read"
        #expect(ending.log.entries == ["closed(Optional(\(text))) after 3.0 seconds"])
        #expect(!ending.connection.isValid && ending.connection.pendingByteCount == 0)
        #expect(loop.run(mode: "other", for: .seconds(1)) == .finished)
    }

    /// The bytes that a connection has received, and what its handler does.
    private final class Reading: @unchecked Sendable {
        let (loop, clock) = Loop.inVirtualTime()
        let ends = Ends.sockets()
        let log = Log<String>()
        let connection: Connection

        init(_ handle: @escaping @Sendable (Connection, Connection.Event) -> Void = { _, _ in }) throws {
            let log = log
            connection = try Connection(owning: ends.reader) { connection, event in
                switch event {
                case .received(let bytes): log.add(String(decoding: bytes, as: UTF8.self))
                case .closed(let error): log.add(error == nil ? "closed" : "closed late")
                default: log.add("\(event)")
                }
                handle(connection, event)
            }
            ends.isReaderClosed = true
            loop.add(connection)
        }

        func run() { loop.run(mode: .default, for: .seconds(100)) }
    }

    @Test("An end that reads first gets what has arrived, answers it, and drops the rest", arguments: [true, false])
    func readingFirst(_ isReceiving: Bool) throws {
        let reading = try Reading { connection, event in
            if case .received = event { #expect(connection.send("answer")) }
        }
        reading.connection.isReceiving = isReceiving
        reading.ends.send("first")
        #expect(reading.connection.end(within: .seconds(3), readingFirst: true))
        #expect(reading.connection.send("unasked "), "the peer was not told yet")
        reading.loop.run(mode: .default, for: .zero)
        #expect(reading.log.entries == ["first"] && !reading.connection.send("late"))
        #expect(readText(reading.ends.writer) == "unasked answer")
        reading.ends.send("second")
        finishWriting(reading.ends.writer)
        reading.run()
        #expect(reading.log.entries == ["first", "closed"] && reading.connection.droppedByteCount == 0)
    }

    @Test("An end that reads first reports the peer's end, if that has come, and its last line")
    func readingTheEndFirst() throws {
        let reading = try Reading()
        reading.ends.send(String(repeating: "x", count: 150_000))
        finishWriting(reading.ends.writer)
        #expect(reading.connection.end(within: .seconds(3), readingFirst: true))
        reading.run()
        #expect(reading.log.entries.dropLast(2).joined().count == 150_000)
        #expect(reading.log.entries.suffix(2) == ["peerFinished", "closed"])

        let (loop, _) = Loop.inVirtualTime()
        let (lines, ends) = (Log<String?>(), Ends.sockets())
        let connection = try Connection(owning: ends.reader)
        ends.isReaderClosed = true
        connection.setLineHandler { _, line in lines.add(line?.text) }
        loop.add(connection)
        ends.send("one\ntwo")
        finishWriting(ends.writer)
        #expect(connection.end(within: .seconds(3), readingFirst: true))
        #expect(loop.run(mode: .default, for: .seconds(100)) == .finished)
        #expect(lines.entries == ["one", "two", nil])
    }

    @Test("An end that reads first ends at once without anything to read", arguments: [false, true])
    func nothingToRead(_ isOfPipe: Bool) throws {
        let reading = try Reading()
        if isOfPipe {
            let (pipe, log) = (Ends.pipe(), Log<String>())
            let connection = try Connection(owning: pipe.reader) { _, event in log.add("\(event)") }
            pipe.isReaderClosed = true
            reading.loop.add(connection)
            pipe.send("last")
            #expect(connection.end(within: .seconds(3), readingFirst: true))
            reading.loop.run(mode: .default, for: .zero)
            #expect(log.entries == ["received(\(Array("last".utf8)))"])
            connection.invalidate()
        }
        #expect(reading.connection.end(within: .seconds(3), readingFirst: true) && !reading.connection.send("late"))
        reading.ends.send("late")
        reading.run()
        #expect(reading.log.entries == ["closed late"] && reading.clock.now.nanoseconds == 3_000_000_000)
        #expect(reading.connection.ignoredByteCount == 4 && reading.connection.droppedByteCount == 0)
    }

    @Test("A handler that runs may answer, and an end of another thread waits for it", arguments: [true, false])
    func readingUnderWay(_ isElsewhere: Bool) throws {
        let reading = try Reading { connection, event in
            guard case .received = event else { return }
            let end: @Sendable () -> Void = { #expect(connection.end(within: .seconds(3), readingFirst: true)) }
            if isElsewhere {
                let thread = Thread { end() }
                thread.start()
                while !thread.isFinished { usleep(100) }
            } else {
                end()
            }
            #expect(connection.send("answer "))
        }
        reading.ends.send("first")
        reading.loop.run(mode: .default, for: .zero)
        #expect(reading.log.entries == ["first"] && !reading.connection.send("late"))
        #expect(readText(reading.ends.writer) == "answer ")
        finishWriting(reading.ends.writer)
        reading.run()
        #expect(reading.log.entries == ["first", "closed"])
    }

    @Test("A plain end ends the reading, and a period of zero leaves no time for it", arguments: [true, false])
    func readingIsCut(_ isPlain: Bool) throws {
        let reading = try Reading()
        reading.ends.send("first")
        #expect(reading.connection.end(within: .seconds(isPlain ? 3 : 0), readingFirst: true))
        if isPlain { reading.connection.end() }
        finishWriting(reading.ends.writer)
        reading.run()
        #expect(reading.log.entries == [isPlain ? "closed" : "closed late"])
        #expect(reading.connection.ignoredByteCount == 5)
    }

    @Test("What is unread when the period is over is counted, whatever the end", arguments: [true, false])
    func unreadAtTheEnd(_ comesLater: Bool) throws {
        let reading = try Reading()
        if !comesLater { reading.ends.send("first") }
        #expect(reading.connection.end(within: comesLater ? .seconds(1) : .zero))
        if comesLater {
            reading.ends.send("first")
            // The loop is late.
            reading.clock.advance(by: .seconds(2))
        }
        reading.run()
        #expect(reading.log.entries == ["closed late"] && reading.connection.ignoredByteCount == 5)
    }

    @Test("What was accepted and dropped is counted", arguments: ["period", "invalidated", "failed"])
    func droppedBytes(_ cause: String) throws {
        let ending = try Ending()
        ending.loop.add(ending.connection)
        ending.sendMuch()
        let count = ending.connection.pendingByteCount
        #expect(ending.connection.droppedByteCount == 0 && count > 0)
        switch cause {
        case "period": ending.connection.end(within: .seconds(1))
        case "failed": ending.ends.hangUp()
        default: ending.connection.invalidate()
        }
        ending.loop.run(mode: .default, for: .seconds(100))
        #expect(ending.connection.pendingByteCount == 0 && ending.connection.droppedByteCount == count)
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

    @Test("A second period never lengthens the first, in another loop with the same clock either")
    func longerPeriodElsewhere() throws {
        let ending = try Ending()
        let other = Loop(clock: ending.clock)
        ending.loop.add(ending.connection)
        #expect(ending.connection.end(within: .seconds(3)))
        ending.clock.advance(by: .seconds(1))
        ending.loop.remove(ending.connection)
        other.add(ending.connection)
        #expect(ending.connection.end(within: .seconds(9)))
        #expect(other.run(mode: .default, for: .seconds(20)) == .finished)
        #expect(ending.log.entries.count == 1 && ending.log.entries[0].hasSuffix("after 3.0 seconds"))
    }

    @Test("The period of a connection of the background keeps no run going")
    func periodOfTheBackground() throws {
        let ending = try Ending()
        ending.connection.keepsRunsGoing = false
        ending.loop.add(ending.connection)
        #expect(ending.connection.end(within: .seconds(9)))
        #expect(ending.loop.runUntilFinished() == .finished)
        #expect(ending.clock.now == ending.start && ending.connection.isValid)
    }

    @Test("A period that ends elsewhere wakes the loop in which only its timer was left", arguments: [true, false])
    func periodEndsElsewhere(_ isReleased: Bool) throws {
        let (thread, ends) = (try LoopThread(), Ends.sockets())
        var connection: Connection? = try Connection(owning: ends.reader) { _, _ in }
        ends.isReaderClosed = true
        let (waits, isOver) = (Gate(), Gate())
        let result = Log<Loop.RunResult>()
        thread.perform { [weak connection] in
            let loop = Loop.current
            loop.add(connection!, in: "alone")
            connection!.end(within: .seconds(100_000))
            loop.remove(connection!, in: "alone")
            let observer = Loop.Observer(.beforeWaiting) { _, _ in waits.open() }
            loop.add(observer, in: "alone")
            result.add(loop.run(mode: "alone", for: .seconds(100_000)))
            isOver.open()
        }
        waits.wait()
        if isReleased { connection = nil } else { connection!.invalidate() }
        isOver.wait()
        #expect(result.entries == [.finished])
    }

    @Test("An end that reads first comes where the kernel does not count what has arrived")
    func uncounted() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let connection = try Connection(owning: eventfd(1, 0)) { _, event in
            if case .received(let bytes) = event { log.add(bytes.count) }
        }
        loop.add(connection)
        #expect(connection.end(within: .seconds(3), readingFirst: true))
        #expect(connection.send([1, 0, 0, 0, 0, 0, 0, 0]), "not read yet")
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [8] && !connection.send([1, 0, 0, 0, 0, 0, 0, 0]))
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
