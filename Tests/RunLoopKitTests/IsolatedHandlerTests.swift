import RunLoopKit
import Testing

/// An actor that has everything in its loop that there is, and counts without a box.
private actor Household {
    nonisolated let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    private var calls: [String: Int] = [:]

    init(_ clock: VirtualClock? = nil) throws { thread = try LoopThread(name: "household", clock: clock) }

    func count(_ name: String, _ step: Int = 1) { calls[name, default: 0] += step }
    func take(_ name: String) -> Int { calls[name] ?? 0 }
}

@Suite struct IsolatedHandlerTests {
    @Test func handlersTouchTheActorsState() async throws {
        let household = try Household()
        let loop = household.thread.loop
        let timer = Loop.Timer(after: .zero, isolation: household) { home, _ in home.count("timer") }
        let source = Loop.Source0(isolation: household) { home in home.count("source") }
        let port = try Loop.PortSource(isolation: household) { home, count in home.count("port", count) }
        let observer = Loop.Observer(.beforeTimers, repeats: false, isolation: household) { home, activity in
            home.count("\(activity)")
        }
        port.send()
        port.send()
        source.signal()
        for item in [timer, source, port, observer] { #expect(loop.add(item, in: .default)) }
        for (name, times) in [("timer", 1), ("source", 1), ("port", 2), ("beforeTimers", 1)] {
            while await household.take(name) < times { await Task.yield() }
            #expect(await household.take(name) == times)
        }
    }

    @Test func aRepeatingTimerCountsWhatItMissed() async throws {
        let clock = VirtualClock(.manual)
        let household = try Household(clock)
        household.thread.loop.add(
            Loop.Timer(every: .seconds(1), isolation: household) { home, firing in home.count("tick", 1 + firing.missed)
            },
            in: .default)
        // Added before the time moves; the thread is woken by that, and idle again when this returns.
        clock.advance(by: .seconds(10))
        #expect(await household.take("tick") == 10)
    }

    @Test func theActorIsNotRetainedAndItsItemsGoWithIt() async throws {
        weak var gone: Household?
        let thread = try LoopThread()
        /// An actor that does not take its thread along.
        actor Guest {
            let thread: LoopThread
            nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
            init(_ thread: LoopThread) { self.thread = thread }
        }
        let source: Loop.Source0
        let called = Count()
        do {
            let household = try Household()
            gone = household
            household.thread.loop.add(
                Loop.Timer(every: .microseconds(10), isolation: household) { _, _ in }, in: .default)
            let guest = Guest(thread)
            source = Loop.Source0(isolation: guest) { _ in called.up() }
            thread.loop.add(source, in: .default)
            source.signal()
            await eventually(called.value == 1)
        }
        await eventually(gone == nil)
        source.signal()
        await eventually(!source.isValid)
        #expect(called.value == 1)
    }

    @Test func noJobBeginsInARunNestedInAnIsolatedHandler() async throws {
        let household = try Household()
        let loop = household.thread.loop
        let order = Log<String>()
        loop.add(
            Loop.Timer(after: .zero, isolation: household) { home, _ in
                Task(executorPreference: home.thread.loop.taskExecutor) { order.add("job") }
                Loop.current.perform { order.add("block") }
                Loop.current.run(mode: .default, for: .zero)
                order.add("end")
            }, in: .default)
        await eventually(order.entries.count == 3)
        #expect(order.entries == ["block", "end", "job"])
    }

    @Test func anIsolatedHandlerInsideAnotherOneLetsNoJobBeginEither() async throws {
        let household = try Household()
        let loop = household.thread.loop
        let order = Log<String>()
        let inner = Loop.Source0(isolation: household) { _ in order.add("inner") }
        loop.add(inner, in: .default)
        loop.add(
            Loop.Timer(after: .zero, isolation: household) { home, _ in
                inner.signal()
                Loop.current.run(mode: .default, for: .zero)
                Task(executorPreference: home.thread.loop.taskExecutor) { order.add("job") }
                Loop.current.run(mode: .default, for: .zero)
                order.add("end")
            }, in: .default)
        await eventually(order.entries.count == 3)
        #expect(order.entries == ["inner", "end", "job"])
        inner.invalidate()
    }

    @Test func everyKindOfItemGoesWithItsActor() throws {
        actor Guest {
            let loop: Loop
            nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
            init(_ loop: Loop) { self.loop = loop }
        }
        let (loop, _) = Loop.inVirtualTime()
        let called = Count()
        var items: [Loop.Item] = []
        do {
            let guest = Guest(loop)
            let source = Loop.Source0(isolation: guest) { _ in called.up() }
            source.signal()
            let port = try Loop.PortSource(isolation: guest) { _, _ in called.up() }
            port.send()
            items = [
                source, port, Loop.Observer(.beforeTimers, isolation: guest) { _, _ in called.up() },
                Loop.Timer(every: .seconds(1), isolation: guest) { _, _ in called.up() },
            ]
        }
        for item in items { loop.add(item, in: .default) }
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(called.value == 0 && items.allSatisfy { !$0.isValid })
        loop.end()
    }

    @Test func anActorThatIsElsewhereTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let household = try Household()
            let other = try LoopThread()
            other.loop.add(Loop.Timer(after: .zero, isolation: household) { _, _ in }, in: .default)
            while true { await Task.yield() }
        }
        expect(result, says: ["Household"])
    }
}
