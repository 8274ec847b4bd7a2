import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// A descriptor's readiness as an asynchronous sequence.
@Suite(.timeBound) struct ReportSequenceTests {
    private typealias Source = Loop.FileDescriptorSource

    // MARK: Delivery

    @Test("Each request is answered by one report")
    func oneReportPerRequest() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let ends = Ends.pipe()
        let (source, reports) = try Source.makeReports(of: ends.reader, on: thread.loop)
        var iterator = reports.makeAsyncIterator()
        ends.send("abc")
        for letter in ["a", "b", "c"] {
            // Returns when the loop is idle, and never if a source spins.
            clock.advance(by: .seconds(1))
            let passes = thread.loop.counters.passes
            clock.advance(by: .seconds(1))
            #expect(!source.isArmed && thread.loop.counters.passes == passes)
            #expect(await iterator.next() == .readable)
            #expect(ends.take(1) == letter)
        }
        // A report needs readiness, and readiness from before the request does not count.
        let next = Task { [iterator] in
            var iterator = iterator
            return await iterator.next()
        }
        await eventually(source.isArmed)
        clock.advance(by: .seconds(1))
        #expect(source.isArmed)
        ends.send("d")
        #expect(await next.value == .readable)
    }

    @Test("Everything is read up to the hang-up")
    func readToTheHangUp() async throws {
        let thread = try LoopThread()
        let ends = Ends.pipe()
        let reports = try Source.makeReports(of: ends.reader, on: thread.loop).reports
        let writer = Task {
            for number in 0..<100 { ends.send("\(number) ") }
            ends.hangUp()
        }
        var text = ""
        for await ready in reports {
            #expect(!ready.isEmpty)
            guard let part = ends.take(7) else { continue }
            if part.isEmpty { break }
            text += part
        }
        await writer.value
        #expect(text == (0..<100).map { "\($0) " }.joined())
    }

    @Test("A hang-up is reported each time it is asked for")
    func repeatedHangUp() async throws {
        let thread = try LoopThread()
        let ends = Ends.pipe()
        let (_, reports) = try Source.makeReports(of: ends.reader, on: thread.loop)
        ends.hangUp()
        var iterator = reports.makeAsyncIterator()
        for _ in 0..<3 { #expect(await iterator.next() == .hangUp) }
    }

    @Test("The interest can be chosen and changed")
    func interest() async throws {
        let thread = try LoopThread()
        let ends = Ends.sockets()
        let (source, reports) = try Source.makeReports(of: ends.reader, interest: .write, on: thread.loop)
        var iterator = reports.makeAsyncIterator()
        #expect(await iterator.next() == .writable)
        ends.send("a")
        #expect(await iterator.next() == .writable)
        source.interest = [.read, .write]
        #expect(await iterator.next() == [.readable, .writable])
    }

    @Test("A task on the loop itself receives its reports")
    func taskOnTheLoop() async throws {
        let thread = try LoopThread()
        let ends = Ends.pipe()
        let (_, reports) = try Source.makeReports(of: ends.reader, on: thread.loop)
        let text = Task(executorPreference: thread.loop.taskExecutor) {
            var text = ""
            for await _ in reports {
                #expect(thread.isCurrent)
                guard let part = ends.take(1), !part.isEmpty else { break }
                text += part
            }
            return text
        }
        ends.send("hello")
        ends.hangUp()
        #expect(await text.value == "hello")
    }

    // MARK: Errors

    @Test("Errors of the initializer are thrown")
    func errors() async throws {
        let thread = try LoopThread()
        #expect(throws: LoopError.self) { try Source.makeReports(of: -1, on: thread.loop) }
        let file = openFile("/proc/self/exe")
        #expect(throws: LoopError.self) { try Source.makeReports(of: file, on: thread.loop) }
        #expect(throws: LoopError.self) { try Source.makeReports(owning: file, on: thread.loop) }
        #expect(isOpen(file), "it is still the caller's")
        closeFile(file)
        #expect(thread.loop.count(of: "descriptor") == 0)
    }

    // MARK: The end

    @Test("The end of the loop ends the sequence, also when other code retains the source")
    func endOfTheLoop() async throws {
        let thread = try LoopThread()
        let ends = Ends.pipe()
        let (source, reports) = try Source.makeReports(of: ends.reader, on: thread.loop)
        let waiting = Task { for await _ in reports {} }
        await eventually(source.isArmed)
        thread.stop()
        await waiting.value
        #expect(!source.isValid)
    }

    @Test("A loop deallocated with its last reference ends the sequence")
    func loopIsDeallocated() async throws {
        let ends = Ends.pipe()
        let (source, reports) = try { () throws in
            let (loop, _) = Loop.inVirtualTime()
            return try Source.makeReports(of: ends.reader, on: loop)
        }()
        #expect(await reports.first { _ in true } == nil)
        #expect(!source.isValid)
    }

    @Test("A loop that has ended returns an empty sequence and closes the descriptor it was given")
    func endedLoop() async throws {
        let thread = try LoopThread()
        let loop = thread.loop
        thread.stop()
        thread.joinBlocking()
        let ends = Ends.pipe()
        ends.isWriterClosed = true
        let (source, reports) = try Source.makeReports(owning: ends.writer, interest: .write, on: loop)
        #expect(await reports.first { _ in true } == nil)
        #expect(!source.isValid && source.descriptor == -1)
        // Async, unlike `waitUntilWriterIsGone()`.
        await eventually(ends.take() == "")
    }

    @Test("Leaving the iteration closes an owned descriptor")
    func leftIteration() async throws {
        let thread = try LoopThread()
        let ends = Ends.pipe()
        ends.isWriterClosed = true
        do {
            let (_, reports) = try Source.makeReports(owning: ends.writer, interest: .write, on: thread.loop)
            #expect(thread.loop.count(of: "descriptor") == 1)
            for await ready in reports {
                #expect(ready == .writable)
                break
            }
        }
        #expect(thread.loop.count(of: "descriptor") == 0)
        // The handler's call on the loop's thread may be about to return: the descriptor is closed after that.
        await eventually(ends.take() == "")
    }

    @Test("Cancelling the task closes an owned descriptor")
    func cancellation() async throws {
        let thread = try LoopThread()
        let ends = Ends.pipe()
        ends.isWriterClosed = true
        let (source, reports) = try Source.makeReports(owning: ends.writer, interest: [], on: thread.loop)
        let waiting = Task { for await _ in reports {} }
        await eventually(source.isArmed)
        #expect(ends.take() == nil)
        waiting.cancel()
        await waiting.value
        #expect(!source.isValid && thread.loop.count(of: "descriptor") == 0)
        await eventually(ends.take() == "")
    }

    @Test("Invalidating the source ends the sequence")
    func invalidation() async throws {
        let thread = try LoopThread()
        let ends = Ends.pipe()
        let (source, reports) = try Source.makeReports(of: ends.reader, on: thread.loop)
        let waiting = Task { for await _ in reports {} }
        await eventually(source.isArmed)
        source.invalidate()
        await waiting.value
    }
}
