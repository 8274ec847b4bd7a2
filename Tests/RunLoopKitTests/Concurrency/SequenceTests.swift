import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

@Suite(.timeBound) struct SequenceTests {
    private typealias Tick = Loop.Ticks.Tick

    // MARK: Ticks

    @Test("Ticks have their time and the count of missed ones")
    func ticks() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        var ticks = thread.loop.ticks(every: .seconds(1)).makeAsyncIterator()
        clock.advance(by: .seconds(1))
        #expect(await ticks.next() == Tick(at: 1, missed: 0))
        // No task takes these ticks: the newest remains, and counts the others.
        clock.advance(by: .seconds(4))
        #expect(await ticks.next() == Tick(at: 5, missed: 3))
        clock.advance(by: .seconds(1))
        #expect(await ticks.next() == Tick(at: 6, missed: 0))
        // A busy loop.
        thread.perform { clock.advance(by: .seconds(3)) }
        clock.advance(by: .zero)
        clock.advance(by: .seconds(1))
        let late = try #require(await ticks.next())
        #expect(late.scheduledTime == seconds(10) && late.missed == 3)
    }

    @Test("A task on the loop receives ticks")
    func ticksOnTheLoop() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let loop = thread.loop
        let times = Task(executorPreference: loop.taskExecutor) {
            var times: [Loop.Instant] = []
            for await tick in loop.ticks(every: .seconds(10)) {
                times.append(tick.scheduledTime)
                if times.count == 3 { break }
            }
            return times
        }
        #expect(await times.value == [seconds(10), seconds(20), seconds(30)])
        #expect(loop.count(of: "timer") == 0)
    }

    @Test("Ending an iteration removes the timer")
    func endedTicks() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let loop = thread.loop
        let sequence = loop.ticks(every: .seconds(1))
        #expect(loop.count(of: "timer") == 0)
        do {
            var (first, second) = (sequence.makeAsyncIterator(), sequence.makeAsyncIterator())
            #expect(loop.count(of: "timer") == 2)
            clock.advance(by: .seconds(1))
            #expect(await first.next() != nil)
            #expect(await second.next() != nil)
        }
        #expect(loop.count(of: "timer") == 0)
        let waiting = Task { for await _ in sequence {} }
        await eventually(loop.count(of: "timer") == 1)
        waiting.cancel()
        await waiting.value
        #expect(loop.count(of: "timer") == 0)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for await _ in sequence {}
        }
        await late.value
        #expect(loop.count(of: "timer") == 0)
    }

    @Test("The end of the loop ends every sequence")
    func endOfTheLoop() async throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let loop = thread.loop
        let (port, sends) = try Loop.PortSource.makeSends(on: loop)
        let ticks = Task { for await _ in loop.ticks(every: .seconds(1)) {} }
        let activities = Task { for await _ in loop.activities(.exit) {} }
        let counts = Task { for await _ in sends {} }
        await eventually(loop.count(of: "timer") == 1 && loop.count(of: "observer") == 1)
        thread.stop()
        for task in [ticks, activities, counts] { await task.value }
        // And iterations that begin later.
        for await _ in loop.ticks(every: .seconds(1)) {}
        for await _ in loop.activities() {}
        for await _ in try Loop.PortSource.makeSends(on: loop).sends {}
        withExtendedLifetime(port) {}
    }

    @Test("An interval of zero is a single tick")
    func zeroInterval() async throws {
        let thread = try LoopThread()
        var count = 0
        for await tick in thread.loop.ticks(every: .zero) { count += 1 + tick.missed }
        #expect(count == 1)
    }

    // MARK: A port

    @Test("Sends are counted, and none is lost")
    func sends() async throws {
        let thread = try LoopThread()
        let (port, sends) = try Loop.PortSource.makeSends(on: thread.loop)
        let senders = (0..<4).map { _ in Task { for _ in 0..<250 { port.send() } } }
        var total = 0
        for await count in sends {
            total += count
            if total == 1000 { break }
        }
        for sender in senders { await sender.value }
        #expect(total == 1000 && port.isValid)
        port.invalidate()
        #expect(await sends.first { _ in true } == nil)
    }

    @Test("Sends that no task has taken yet are added up")
    func untakenSends() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let (port, sends) = try Loop.PortSource.makeSends(on: thread.loop)
        var iterator = sends.makeAsyncIterator()
        // In three calls of the port's handler: each advance returns when the loop is idle.
        for count in [1, 2, 4] {
            for _ in 0..<count { port.send() }
            clock.advance(by: .zero)
        }
        #expect(await iterator.next() == 7)
        port.send()
        #expect(await iterator.next() == 1)
    }

    @Test("A port whose sequence was deallocated leaves the loop")
    func sendSequenceIsDeallocated() async throws {
        let thread = try LoopThread()
        let before = thread.loop.description
        let port: Loop.PortSource
        do {
            let made = try Loop.PortSource.makeSends(on: thread.loop)
            port = made.port
            port.send()
            #expect(await made.sends.first { _ in true } == 1)
            #expect(thread.loop.contains(port, in: .common))
        }
        #expect(!port.isValid)
        #expect(thread.loop.count(of: "source 0") == 0 && before.contains("port source"))
    }

    @Test("Cancelling the task removes the port")
    func cancellation() async throws {
        let thread = try LoopThread()
        let (port, sends) = try Loop.PortSource.makeSends(on: thread.loop)
        let waiting = Task { for await _ in sends {} }
        #expect(thread.loop.contains(port, in: .common))
        waiting.cancel()
        await waiting.value
        #expect(!port.isValid && !thread.loop.contains(port, in: .common))
    }

    // MARK: Activities

    @Test("Activities arrive in order, and dropped ones are counted")
    func activities() async throws {
        let (loop, _) = Loop.inVirtualTime()
        var all = loop.activities([.entry, .exit]).makeAsyncIterator()
        var newest = loop.activities([.entry, .exit], bufferingNewest: 2).makeAsyncIterator()
        runThreeTimes(loop)
        var activities: [Loop.Activity] = []
        for _ in 0..<6 { if let passage = await all.next() { activities.append(passage.activity) } }
        #expect(activities == [.entry, .exit, .entry, .exit, .entry, .exit])
        let left = (await newest.next(), await newest.next())
        #expect(left.0?.activity == .entry && left.0?.missed == 4)
        #expect(left.1?.activity == .exit && left.1?.missed == 0)
    }

    private func runThreeTimes(_ loop: Loop) {
        for _ in 0..<3 {
            loop.perform {}
            loop.run(mode: .default, for: .zero)
        }
    }

    @Test("Ending an iteration of activities removes the observer")
    func endedActivities() async throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let loop = thread.loop
        let sequence = loop.activities(.beforeTimers)
        #expect(loop.count(of: "observer") == 0)
        do {
            var (first, second) = (sequence.makeAsyncIterator(), sequence.makeAsyncIterator())
            #expect(loop.count(of: "observer") == 2)
            thread.perform {}
            #expect(await first.next() != nil)
            #expect(await second.next() != nil)
        }
        #expect(loop.count(of: "observer") == 0)
        let waiting = Task { for await _ in loop.activities(.exit) {} }
        await eventually(loop.count(of: "observer") == 1)
        waiting.cancel()
        await waiting.value
        #expect(loop.count(of: "observer") == 0)
    }

    @Test("Activities have their mode and their time")
    func modeAndTime() async throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        clock.advance(by: .seconds(7))
        var own = loop.activities(.entry, in: .tracking).makeAsyncIterator()
        for mode in [.default, .tracking, .default] as [Loop.Mode] {
            loop.perform(in: mode) {}
            runOnce(loop, mode)
        }
        loop.end()
        #expect(await own.next() == Loop.Activities.Passage(activity: .entry, time: seconds(7), missed: 0))
        #expect(await own.next() == nil)
    }

    private func runOnce(_ loop: Loop, _ mode: Loop.Mode) { loop.run(mode: mode, for: .zero) }

    // MARK: A sequence as a source

    @Test("Elements are delivered on the loop in order, followed by the end")
    func elements() async throws {
        let thread = try LoopThread()
        let log = Log<Int>()
        let ended = Count()
        let (stream, input) = AsyncStream<Int>.makeStream()
        let source = Loop.Source0(delivering: stream) { number in
            #expect(thread.isCurrent)
            log.add(number)
        } onEnd: { error in
            #expect(error == nil && thread.isCurrent)
            ended.up()
        }
        for number in 0..<1000 { input.yield(number) }
        input.finish()
        thread.loop.add(source, in: .default)
        await eventually(ended.value == 1)
        #expect(log.entries == Array(0..<1000))
        #expect(!source.isValid && thread.loop.count(of: "source 0") == 0)
    }

    @Test("An error ends the source")
    func error() async throws {
        struct Failure: Error {}
        let thread = try LoopThread()
        let (stream, input) = AsyncThrowingStream<Int, any Error>.makeStream()
        let log = Log<String>()
        input.yield(1)
        input.finish(throwing: Failure())
        thread.loop.add(
            Loop.Source0(delivering: stream) {
                log.add("\($0)")
            } onEnd: {
                log.add("\($0 is Failure)")
            }, in: .default)
        await eventually(log.entries.count == 2)
        #expect(log.entries == ["1", "true"])
    }

    /// Counts the requests.
    private struct Supply: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let asked: Count
        mutating func next() async -> Int? { asked.up() }
        func makeAsyncIterator() -> Supply { self }
    }

    @Test("A sequence is not asked for more elements than the loop takes")
    func backPressure() async throws {
        let (asked, log) = (Count(), Log<Int>())
        let source = Loop.Source0(delivering: Supply(asked: asked), bufferingAtMost: 3) { log.add($0) }
        #expect(asked.value == 0)
        let thread = try LoopThread()
        // In a mode that never runs.
        thread.loop.add(source, in: "modal")
        await eventually(asked.value == 3)
        for _ in 0..<1000 { await Task.yield() }
        #expect(asked.value == 3)
        while log.entries.count < 9 {
            try await thread.run { _ = Loop.current.run(mode: "modal", for: .zero) }
            #expect(asked.value <= log.entries.count + 3)
        }
        #expect(log.entries == Array(1...log.entries.count))
    }

    @Test("A source that its handler removes keeps the rest of its elements for another loop")
    func removedInHandler() async throws {
        let (first, second) = (try LoopThread(), try LoopThread())
        let (asked, log, sources) = (Count(), Log<String>(), Log<Loop.Source0>())
        let source = Loop.Source0(delivering: Supply(asked: asked), bufferingAtMost: 4) { number in
            log.add("\(number) on the \(first.isCurrent ? "first" : "second")")
            if number == 2 { first.loop.remove(sources.entries[0], in: "modal") }
        }
        sources.add(source)
        first.loop.add(source, in: "modal")
        await eventually(asked.value == 4)
        while log.entries.isEmpty { try await first.run { _ = Loop.current.run(mode: "modal", for: .zero) } }
        #expect(log.entries == ["1 on the first", "2 on the first"])
        second.loop.add(source, in: .default)
        await eventually(log.entries.count >= 5)
        source.invalidate()
        #expect(log.entries[2..<5] == ["3 on the second", "4 on the second", "5 on the second"])
    }

    /// A stream that reports the deallocation of its iterator, and so of the task that owned it.
    private struct Tracked: AsyncSequence, Sendable {
        final class Token: Sendable {
            private let released: Gate
            init(_ released: Gate) { self.released = released }
            deinit { released.open() }
        }
        struct Iterator: AsyncIteratorProtocol {
            var base: AsyncStream<Int>.Iterator
            let token: Token
            mutating func next() async -> Int? { await base.next() }
        }

        let stream: AsyncStream<Int>
        let released: Gate
        func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator(), token: Token(released)) }
    }

    @Test("Invalidating cancels the task")
    func invalidation() async throws {
        let thread = try LoopThread()
        for inHandler in [false, true] {
            let (stream, input) = AsyncStream<Int>.makeStream()
            let (called, ended) = (Count(), Gate())
            let sources = Log<Loop.Source0>()
            let source = Loop.Source0(delivering: Tracked(stream: stream, released: ended)) { _ in
                called.up()
                if inHandler { sources.entries[0].invalidate() }
            } onEnd: { _ in
                called.upBy(100)
            }
            sources.add(source)
            thread.loop.add(source, in: .default)
            input.yield(1)
            input.yield(2)
            if !inHandler {
                await eventually(called.value == 2)
                source.invalidate()
            }
            await eventually(ended.isOpenNow)
            #expect(called.value == (inHandler ? 1 : 2))
        }
        #expect(thread.loop.count(of: "source 0") == 0)
    }

    @Test("The end of the loop cancels the task of a source that no code retains")
    func unretainedSource() async throws {
        let thread = try LoopThread()
        let (stream, input) = AsyncStream<Int>.makeStream()
        let (called, ended) = (Count(), Gate())
        let tracked = Tracked(stream: stream, released: ended)
        thread.loop.add(Loop.Source0(delivering: tracked, bufferingAtMost: 0) { _ in called.up() }, in: .default)
        input.yield(1)
        await eventually(called.value == 1)
        thread.stop()
        await eventually(ended.isOpenNow)
    }
}

extension Loop.Ticks.Tick {
    fileprivate init(at second: Int64, missed: Int) {
        self.init(scheduledTime: seconds(second), missed: missed)
    }
}
