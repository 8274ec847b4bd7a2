import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Handlers of a connection's lines.
@Suite(.timeBound) struct ConnectionLineTests {
    private typealias Child = Loop.ChildProcess

    /// The lines that a child writes, in virtual time, in which its end is awaited.
    private func lines(of script: String, _ splitter: Loop.LineSplitter = .init()) throws -> [String] {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let child = try Child("sh", ["-c", script], output: .pipe) { _, _ in }
        child.outputConnection.setLineHandler(splitter) { connection, line in
            #expect(connection.isValid == (line != nil))
            log.add(line.map { $0.text ?? "too long" } ?? "end")
        }
        loop.add(child)
        loop.run()
        return log.entries
    }

    @Test("Lines come one by one, then the end")
    func childs() throws {
        #expect(try lines(of: "echo one; echo; printf 'two\\nlast'") == ["one", "", "two", "last", "end"])
        #expect(try lines(of: "true") == ["end"])
        #expect(
            try lines(of: "echo short; echo longer; echo x", .init(maximalLength: 5)) == [
                "short", "too long", "x", "end",
            ])
        let many = try lines(of: "seq 20000")
        #expect(many == (1...20000).map { "\($0)" } + ["end"])
    }

    @Test("A handler that invalidates its connection gets no other line")
    func invalidated() throws {
        let (loop, log, ends) = (Loop(clock: VirtualClock()), Log<String>(), Ends.sockets())
        let connection = try Loop.Connection(owning: ends.reader)
        ends.isReaderClosed = true
        #expect(
            connection.setLineHandler { connection, line in
                log.add(line?.text ?? "end")
                if line?.text == "stop" { connection.invalidate() }
            })
        loop.add(connection)
        ends.send("go\nstop\nmore\n")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["go", "stop"] && !connection.setLineHandler { _, _ in })
    }

    @Test("A peer that only listens sees the end after its own")
    func socket() throws {
        let (loop, log, ends) = (Loop(clock: VirtualClock()), Log<String>(), Ends.sockets())
        let connection = try Loop.Connection(owning: ends.reader)
        ends.isReaderClosed = true
        connection.setLineHandler(isolation: .shared) { _, line in log.add(line?.text ?? "end") }
        connection.setLineHandler { _, line in log.add("second \(line?.text ?? "end")") }
        loop.add(connection)
        ends.send("a\nb")
        ends.closeWriter()
        loop.run()
        #expect(log.entries == ["second a", "second b", "second end"])
    }

    @Test("A nested run gets the lines in order, and the end after the last")
    func nested() throws {
        let (loop, log, ends) = (Loop(clock: VirtualClock()), Log<String>(), Ends.sockets())
        let connection = try Loop.Connection(owning: ends.reader)
        ends.isReaderClosed = true
        connection.setLineHandler { _, line in
            log.add(line?.text ?? "end")
            guard line?.text == "a" else { return }
            ends.send("d\ne")
            ends.hangUp()
            loop.run(mode: .default, for: .seconds(1))
            log.add("returns")
        }
        loop.add(connection)
        ends.send("a\nb\nc\n")
        loop.run()
        #expect(log.entries == ["a", "b", "c", "d", "e", "end", "returns"])
    }

    @Test(
        "A handler that gives its connection to another thread leaves the other lines to it", arguments: [false, true])
    func moved(_ isFinished: Bool) throws {
        let (loop, worker, ends) = (Loop(clock: VirtualClock()), try LoopThread(), Ends.sockets())
        let (log, isOver) = (Log<String>(), Gate())
        let connection = try Loop.Connection(owning: ends.reader)
        ends.isReaderClosed = true
        connection.setLineHandler { connection, line in
            log.add("\(line?.text ?? "end"), on the worker: \(worker.isCurrent)")
            if line == nil { return isOver.open() }
            guard line?.text == "a" else { return }
            loop.remove(connection)
            worker.loop.add(connection)
        }
        loop.add(connection)
        ends.send("a\nb\nc\n")
        if isFinished { finishWriting(ends.writer) }
        loop.run(mode: .default, for: .seconds(1))
        if !isFinished { ends.send("d\n") }
        ends.closeWriter()
        isOver.wait()
        let others = ["b", "c"] + (isFinished ? [] : ["d"]) + ["end"]
        #expect(log.entries == ["a, on the worker: false"] + others.map { "\($0), on the worker: true" })
        worker.stop()
        worker.join()
    }

    @Test("A connection that ends in a nested run reports the lines that came before")
    func endsInNestedRun() throws {
        let (loop, log, ends) = (Loop(clock: VirtualClock()), Log<String>(), Ends.sockets())
        let connection = try Loop.Connection(owning: ends.reader)
        ends.isReaderClosed = true
        connection.setLineHandler { connection, line in
            log.add(line?.text ?? "end")
            guard line?.text == "a" else { return }
            connection.end(within: .zero)
            loop.run(mode: .default, for: .seconds(1))
        }
        loop.add(connection)
        ends.send("a\nb\nc\nrest")
        loop.run()
        #expect(log.entries == ["a", "b", "c", "rest", "end"])
    }

    /// What a peer, who has sent "a\npart", and then what `act` says, makes of a connection's lines; and how many bytes
    /// were ignored.
    private func lines(
        sending text: String = "a\npart", _ act: (Loop.Connection, Ends) -> Void
    ) throws -> (lines: [String], ignored: Int) {
        let (loop, log, ends) = (Loop(clock: VirtualClock()), Log<String>(), Ends.sockets())
        let connection = try Loop.Connection(owning: ends.reader)
        ends.isReaderClosed = true
        connection.setLineHandler(.init(maximalLength: 5)) { _, line in
            log.add(line.map { $0.text ?? "too long" } ?? "end")
        }
        loop.add(connection)
        ends.send(text)
        loop.run(mode: .default, for: .zero)
        act(connection, ends)
        #expect(loop.run(mode: .default, for: .seconds(100)) == .finished)
        return (log.entries, connection.ignoredByteCount)
    }

    @Test("At the program's own end the rest of a peer that sends no more is the last line")
    func ownEnd() throws {
        let acts: [(Loop.Connection, Ends) -> Void] = [
            { connection, _ in connection.finishSending(within: .seconds(2)) },
            { connection, _ in connection.end(within: .seconds(2)) },
            { connection, ends in
                ends.send("y")
                connection.end(within: .seconds(2), readingFirst: true)
            },
            // It finishes within the period.
            { connection, ends in
                connection.end()
                finishWriting(ends.writer)
            },
        ]
        for (act, last) in zip(acts, ["part", "part", "party", "part"]) {
            let (lines, ignored) = try lines(act)
            #expect(lines == ["a", last, "end"] && ignored == 0)
        }
        let (whole, _) = try lines(sending: "a\n") { connection, _ in connection.end(within: .zero) }
        #expect(whole == ["a", "end"])
        let (finished, _) = try lines { connection, ends in
            // The peer's end is reported, and does not end the connection, since the kernel does not take all.
            connection.send([UInt8](repeating: 1, count: 32_000_000))
            finishWriting(ends.writer)
            connection.finishSending(within: .seconds(2))
        }
        #expect(finished == ["a", "part", "end"])
    }

    @Test("A line whose end is dropped at the program's own end is not reported, but counted")
    func cutLine() throws {
        let acts: [(Loop.Connection, Ends) -> Void] = [
            { connection, ends in
                connection.end(within: .seconds(2))
                ends.send("y\n")
            },
            { connection, ends in
                connection.isReceiving = false
                connection.finishSending(within: .seconds(2))
                ends.send("y\n")
            },
            { connection, ends in
                connection.end()
                ends.send("y\n")
                finishWriting(ends.writer)
            },
            { connection, ends in
                connection.isReceiving = false
                ends.send("y\n")
                // The peer takes nothing of it.
                connection.send([UInt8](repeating: 1, count: 32_000_000))
                connection.idleLimit = .seconds(2)
            },
        ]
        for act in acts {
            let (lines, ignored) = try lines(act)
            #expect(lines == ["a", "end"] && ignored == 6)
        }
    }

    @Test("The rest of a line that was too long is neither reported nor counted again")
    func tooLongAtOwnEnd() throws {
        let (long, ignored) = try lines(sending: "a\nlonger") { connection, _ in connection.end(within: .zero) }
        #expect(long == ["a", "too long", "end"] && ignored == 0)
        let (cut, other) = try lines(sending: "a\nlonger") { connection, ends in
            connection.end(within: .seconds(2))
            ends.send("y\n")
        }
        #expect(cut == ["a", "too long", "end"] && other == 2)
    }

    @Test("A failure reports no rest, even after the program has ended the connection")
    func failsInPeriod() throws {
        let (lines, ignored) = try lines { connection, ends in
            // The peer leaves it unread.
            connection.send("x")
            connection.finishSending(within: .seconds(2))
            ends.hangUp()
        }
        #expect(lines == ["a", "end"] && ignored == 0)
    }
}
