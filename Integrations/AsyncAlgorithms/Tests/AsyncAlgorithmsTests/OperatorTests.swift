import AsyncAlgorithms
import RunLoopKit
import Testing

/// The sequences of a loop satisfy what the operators require.
@Suite(.timeLimit(.minutes(1))) struct OperatorTests {
    @Test("Ticks and messages merge into one sequence, which ends with its loop")
    func merging() async throws {
        let thread = try LoopThread(name: "merge", clock: VirtualClock(.manual))
        let (port, messages) = Loop.MessagePort<Int>.makeMessages(on: thread.loop)
        let ticks = thread.loop.ticks(every: .seconds(1)).map { _ in -1 }
        port.send(1)
        port.send(2)
        var iterator = merge(ticks, messages).makeAsyncIterator()
        #expect(await iterator.next() == 1)
        #expect(await iterator.next() == 2)
        thread.stop()
        #expect(await iterator.next() == nil)
    }

    @Test("Messages come in chunks, without duplicates")
    func chunks() async {
        let thread = try! LoopThread(name: "chunks")
        let (port, messages) = Loop.MessagePort<Int>.makeMessages(on: thread.loop)
        for number in [1, 1, 2, 3, 3, 4] { port.send(number) }
        thread.stop()
        var chunks: [[Int]] = []
        for await chunk in messages.removeDuplicates().chunks(ofCount: 2) { chunks.append(chunk) }
        #expect(chunks == [[1, 2], [3, 4]])
    }

    @Test("Sends of a port are zipped with another sequence")
    func zipping() async throws {
        let thread = try LoopThread(name: "zip")
        let (port, sends) = try Loop.PortSource.makeSends(on: thread.loop)
        let (words, continuation) = AsyncStream.makeStream(of: String.self)
        port.send()
        continuation.yield("a")
        var pairs = zip(sends, words).makeAsyncIterator()
        let pair = try #require(await pairs.next())
        #expect(pair.0 == 1 && pair.1 == "a")
    }

    @Test("A timer sequence runs on the time of a loop")
    func clocks() async throws {
        let thread = try LoopThread(name: "time", clock: VirtualClock())
        let clock = LoopClock(thread.loop)
        var times = AsyncTimerSequence(interval: .seconds(60), clock: clock).makeAsyncIterator()
        let (first, second) = (await times.next(), await times.next())
        #expect(try #require(first) >= Loop.Instant(nanoseconds: 60_000_000_000))
        #expect(try #require(second) > #require(first))
    }

    @Test("The elements of an operator are delivered to a loop")
    func delivering() async {
        let loop = Loop(clock: VirtualClock())
        let received = Loop.MessagePort<String> { _ in }
        let source = Loop.Source0(delivering: chain(["a"].async, ["b"].async)) { received.send($0) }
        loop.add(source, in: .default)
        // The task iterates in real time; the run ends when the source has.
        loop.run()
        #expect(received.takeWaiting() == ["a", "b"])
    }
}
