import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// An actor with every kind of item in its loop, which counts without a box.
private actor Household {
    nonisolated let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    private var calls: [String: Int] = [:]

    init(_ clock: VirtualClock? = nil) throws { thread = try LoopThread(name: "household", clock: clock) }

    func count(_ name: String, _ step: Int = 1) { calls[name, default: 0] += step }
    func take(_ name: String) -> Int { calls[name] ?? 0 }
}

/// An actor that does not own its thread.
private actor Guest {
    let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    init(_ thread: LoopThread) { self.thread = thread }
}

private actor VirtualGuest {
    private let loop: Loop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    init(_ loop: Loop) { self.loop = loop }
}

/// An actor that makes its limiters in its `init`.
private actor Limited {
    private let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    nonisolated let save: Throttle<Int>
    nonisolated let collect: Debounce<Int>
    nonisolated let keyed: KeyedThrottle<String, Int>
    nonisolated let keyedCollect: KeyedDebounce<String, Int>
    nonisolated let queue: PacedQueue<Int>
    private var lines: [String] = []

    init() throws {
        thread = try LoopThread(name: "limited")
        let loop = thread.loop
        save = Throttle(interval: .zero, on: loop)
        collect = .collecting(interval: .seconds(3600), on: loop)
        keyed = KeyedThrottle(interval: .zero, on: loop)
        keyedCollect = .collecting(interval: .seconds(3600), on: loop)
        queue = PacedQueue(1, per: .nanoseconds(1), capacity: 10, on: loop)
        save.setHandler(isolation: self) { home, input in home.lines.append("\(input)") }
        collect.setHandler(isolation: self, collecting: { home, inputs in home.lines.append("\(inputs)") })
        keyed.setHandler(isolation: self) { home, key, input in home.lines.append("\(key): \(input)") }
        queue.setHandler(isolation: self) { home, input in home.lines.append("queued \(input)") }
        keyedCollect.setHandler(isolation: self, collecting: { $0.lines.append("\($1): \($2)") })
    }

    /// What the limiters have written, sorted, after what pends was flushed.
    var results: [String] {
        collect.flush()
        keyedCollect.flushAll()
        return lines.sorted()
    }
}

/// An actor that is on no loop.
private actor Unbound {}

@Suite(.timeBound) struct IsolatedHandlerTests {
    @Test("Handlers access the actor's state")
    func actorState() async throws {
        let household = try Household()
        let loop = household.thread.loop
        let timer = Loop.Timer(after: .zero, isolation: household) { home, _ in home.count("timer") }
        let source = Loop.Source0(isolation: household) { home in home.count("source") }
        let port = try Loop.PortSource(isolation: household) { home, count in home.count("port", count) }
        let observer = Loop.Observer(.beforeTimers, isolation: household) { home, observer, activity in
            home.count("\(activity)")
            observer.invalidate()
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

    @Test("Actions of limiters access the actor's state, and those that an actor sets in its init")
    func limiters() async throws {
        let limited = try Limited()
        #expect(limited.queue(1) == .accepted)
        while await limited.results.isEmpty { await Task.yield() }
        for input in 1...2 {
            limited.save(input)
            limited.collect(input)
            limited.keyed(input, for: "key")
            limited.keyedCollect(input, for: "key")
        }
        // A job of the actor may come before a block that was handed over.
        while await limited.results.count < 7 { await Task.yield() }
        #expect(await limited.results == ["queued 1", "1", "2", "[1, 2]", "key: 1", "key: 2", "key: [1, 2]"].sorted())
    }

    @Test("A limiter whose actor is gone acts no more, and refuses calls")
    func limiterOfActorThatIsGone() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (throttle, log) = (Throttle<Int>(interval: .milliseconds(1), on: loop), Log<Int>())
        do {
            let guest = Unbound()
            #expect(throttle.setHandler(isolation: guest) { _, input in log.add(input) })
        }
        #expect(throttle(1), "the actor is missed now")
        #expect(!throttle(2))
        #expect(log.entries == [])
    }

    @Test("A limiter survives the actor of an action that was replaced, though a call of it was on its way")
    func limiterOfActorThatWasReplaced() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let throttle = Throttle<Int>(interval: .zero, on: loop)
        let collect = Throttle<Int>.collecting(interval: .zero, on: loop)
        let keyed = KeyedThrottle<Int, Int>(interval: .zero, on: loop)
        let keyedCollect = KeyedThrottle<Int, Int>.collecting(interval: .zero, on: loop)
        let queue = PacedQueue<Int>(1, per: .zero, capacity: 9, on: loop)
        do {
            let guest = Unbound()
            throttle.setHandler(isolation: guest) { _, _ in log.add("old") }
            collect.setHandler(isolation: guest, collecting: { _, _ in log.add("old") })
            keyed.setHandler(isolation: guest) { _, _, _ in log.add("old") }
            keyedCollect.setHandler(isolation: guest, collecting: { _, _, _ in log.add("old") })
            queue.setHandler(isolation: guest) { _, _ in log.add("old") }
            try LoopThread().performAndWait {
                throttle(1)
                collect(1)
                keyed(1, for: 1)
                keyedCollect(1, for: 1)
                // The queue alone hands nothing over before its turn has come.
                _ = queue(1)
                queue.flush()
            }
            throttle.setHandler { log.add("\($0)") }
            collect.setHandler(collecting: { log.add("\($0)") })
            keyed.setHandler { log.add("\($0): \($1)") }
            keyedCollect.setHandler(collecting: { log.add("\($0): \($1)") })
            queue.setHandler { log.add("queued \($0)") }
        }
        loop.run(mode: .default, for: .zero)
        #expect(throttle(2) && collect(2) && keyed(2, for: 2) && keyedCollect(2, for: 2) && queue(2) == .accepted)
        #expect(log.entries == ["2", "[2]", "2: 2", "2: [2]", "queued 2"])
    }

    @Test("Handlers of descriptors, messages and processes access it too")
    func inputHandlers() async throws {
        let household = try Household()
        let loop = household.thread.loop
        let (lent, given) = (Ends.pipe(), Ends.pipe())
        given.isReaderClosed = true
        lent.send("xy")
        given.send("abc")
        let borrowing = try Loop.FileDescriptorSource(lent.reader, isolation: household) { home, source, ready in
            home.count("borrowed", ready.contains(.readable) ? readText(source.descriptor)?.count ?? 0 : 0)
        }
        let owning = try Loop.FileDescriptorSource(
            owning: given.reader, isOneShot: true, isolation: household
        ) { home, source, _ in
            home.count("owned", readText(source.descriptor)?.count ?? 0)
        }
        let port = Loop.MessagePort<Int>(isolation: household) { home, message in home.count("message", message) }
        for message in 1...4 { port.send(message) }
        let child = Child.waiting(then: "exit 3")
        let process = try Loop.ProcessSource(child.number, isolation: household) { home, source, exit in
            home.count("process", source.process == child.number && exit == .exited(3) ? 1 : 100)
        }
        for item in [borrowing, owning, port, process] { #expect(loop.add(item)) }
        child.goOn()
        for (name, times) in [("borrowed", 2), ("owned", 3), ("message", 10), ("process", 1)] {
            while await household.take(name) < times { await Task.yield() }
            #expect(await household.take(name) == times)
        }
        #expect(owning.isOneShot && !owning.isArmed)
        owning.invalidate()
        #expect(owning.descriptor == -1, "closed")
    }

    @Test("A timer may count on the continuous clock")
    func continuousTimer() async throws {
        let household = try Household()
        let timers = [
            Loop.Timer(after: .zero, timeBase: .continuous, isolation: household) { home, _ in home.count("tick") },
            Loop.Timer(every: .seconds(3600), timeBase: .continuous, isolation: household) { _, _ in },
        ]
        for timer in timers {
            #expect(timer.timeBase == .continuous)
            household.thread.loop.add(timer)
        }
        while await household.take("tick") < 1 { await Task.yield() }
        #expect(Loop.Timer(after: .zero, isolation: household) { _, _ in }.timeBase == .suspending)
    }

    @Test("A timer may be made for a time")
    func timerForATime() async throws {
        let clock = VirtualClock(.manual)
        let household = try Household(clock)
        let timer = Loop.Timer(
            at: seconds(5), repeating: .seconds(2), tolerance: .seconds(1), timeBase: .continuous, isolation: household
        ) { home, firing in
            home.count("\(firing.scheduledTime.nanoseconds / 1_000_000_000)")
        }
        #expect(timer.interval == .seconds(2) && timer.tolerance == .seconds(1) && timer.timeBase == .continuous)
        household.thread.loop.add(timer)
        clock.advance(by: .seconds(8))
        #expect(await household.take("5") == 1)
        #expect(await household.take("7") == 1)
        // Once, by default.
        household.thread.loop.add(Loop.Timer(at: seconds(9), isolation: household) { home, _ in home.count("once") })
        clock.advance(by: .seconds(8))
        #expect(await household.take("once") == 1)
    }

    @Test("A repeating timer counts what it missed")
    func missedInstants() async throws {
        let clock = VirtualClock(.manual)
        let household = try Household(clock)
        household.thread.loop.add(
            Loop.Timer(every: .seconds(1), isolation: household) { home, firing in home.count("tick", 1 + firing.missed)
            },
            in: .default)
        // Added before the time advances; that wakes the thread, which is idle again when this returns.
        clock.advance(by: .seconds(10))
        #expect(await household.take("tick") == 10)
    }

    @Test("The actor is not retained, and its items become invalid with it")
    func actorIsNotRetained() async throws {
        weak var remains: Household?
        let thread = try LoopThread()
        let source: Loop.Source0
        let called = Count()
        do {
            let household = try Household()
            remains = household
            household.thread.loop.add(
                Loop.Timer(every: .milliseconds(20), isolation: household) { _, _ in }, in: .default)
            let guest = Guest(thread)
            source = Loop.Source0(isolation: guest) { _ in called.up() }
            thread.loop.add(source, in: .default)
            source.signal()
            await eventually(called.value == 1)
        }
        await eventually(remains == nil)
        source.signal()
        await eventually(!source.isValid)
        #expect(called.value == 1)
    }

    @Test("Descriptors, messages and processes become invalid with the actor too")
    func inputsBecomeInvalid() async throws {
        let thread = try LoopThread()
        let (ends, child, called) = (Ends.pipe(), Child.waiting(then: "exit 3"), Count())
        let (items, port, owning): ([Loop.Item], Loop.MessagePort<Int>, Loop.FileDescriptorSource)
        do {
            let guest = Guest(thread)
            port = Loop.MessagePort(isolation: guest) { _, _ in called.up() }
            ends.isReaderClosed = true
            owning = try Loop.FileDescriptorSource(owning: ends.reader, isolation: guest) { _, _, _ in called.up() }
            items = [port, owning, try Loop.ProcessSource(child.number, isolation: guest) { _, _, _ in called.up() }]
        }
        for item in items { thread.loop.add(item) }
        // The first message invalidates the port: the second has to be sent before the loop handles it.
        let areSent = Gate()
        thread.perform { areSent.wait() }
        #expect(port.send(1) && port.send(2))
        areSent.open()
        ends.send("x")
        child.goOn()
        await eventually(items.allSatisfy { !$0.isValid })
        // Items release their resources after they have become invalid.
        await eventually(owning.descriptor == -1 && port.waitingCount == 0)
        #expect(!port.send(3) && called.value == 0)
        #expect(!isZombie(child.number), "reaped all the same")
    }

    @Test("No job begins in a run nested in an isolated handler")
    func nestedRun() async throws {
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

    @Test("An isolated handler inside another one lets no job begin either")
    func nestedHandler() async throws {
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

    @Test("Every kind of item becomes invalid with its actor")
    func everyKindOfItem() throws {
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
                source, port, Loop.Observer(.beforeTimers, isolation: guest) { _, _, _ in called.up() },
                Loop.Timer(every: .seconds(1), isolation: guest) { _, _ in called.up() },
            ]
        }
        for item in items { loop.add(item, in: .default) }
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(called.value == 0 && items.allSatisfy { !$0.isValid })
        loop.end()
    }

    @Test("No job begins in a run nested in an isolated action that a call outside of runs has caused")
    func nestedRunOutsideOfRuns() {
        let (loop, _) = Loop.inVirtualTime()
        let (guest, order) = (VirtualGuest(loop), Log<String>())
        let throttle = Throttle<Int>(interval: .zero, on: loop)
        throttle.setHandler(isolation: guest) { _, _ in
            Task.detached(executorPreference: loop.taskExecutor) { order.add("job") }
            loop.run(mode: .default, for: .zero)
            order.add("end")
        }
        throttle(1)
        loop.run(mode: .default, for: .zero)
        #expect(order.entries == ["end", "job"])
        loop.end()
    }
}
