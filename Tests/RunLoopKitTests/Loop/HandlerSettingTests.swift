import LoopTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

private let nextSignal = Atomic<Int32>(0)

/// Handlers that items get after they were made.
@Suite(.timeBound) struct HandlerSettingTests {
    /// An item of some kind without a handler.
    private struct Late: Sendable {
        let item: Loop.Item
        /// Makes something happen that the item reports once.
        var happen: @Sendable () -> Void = {}
        /// Leaves no zombie, of which Swift Testing would hear again and again.
        var cleanUp: @Sendable () -> Void = {}
        /// Sets a handler that does what an ordinary one must, and then calls this.
        let set: @Sendable (_ call: @escaping @Sendable () -> Void) -> Bool
    }

    private enum Kind: String, CaseIterable, Sendable {
        case timer, timerAtTime, repeatingTimer, restartableTimer, wallClockTimer, preciseTimer, source0, portSource,
            messagePort, borrowedDescriptor, ownedDescriptor, edgeTriggered, process, signal

        /// Whether it reports once only.
        var isOver: Bool { [.timer, .timerAtTime, .wallClockTimer, .preciseTimer, .process].contains(self) }
    }

    /// On the thread of the loop, of which each call has one of its own, since it blocks signals there.
    private func make(_ kind: Kind, on loop: Loop) throws -> Late {
        switch kind {
        case .timer: return late(Loop.Timer(after: .zero))
        case .timerAtTime: return late(Loop.Timer(at: loop.now))
        case .repeatingTimer: return late(Loop.Timer(after: .zero, repeating: .seconds(1000)))
        case .restartableTimer:
            let timer = Loop.Timer(restartableAfter: .zero)
            var late = late(timer)
            late.happen = { timer.restart() }
            return late
        case .wallClockTimer: return late(Loop.Timer(after: .zero, timeBase: .wallClock))
        case .preciseTimer:
            let timer = Loop.Timer(after: .zero)
            timer.isPrecise = true
            return late(timer)
        case .source0:
            let source = Loop.Source0()
            return Late(item: source, happen: { source.signal() }) { source.setHandler($0) }
        case .portSource:
            let port = try Loop.PortSource()
            return Late(item: port, happen: { port.send() }) { call in port.setHandler { _ in call() } }
        case .messagePort:
            let port = Loop.MessagePort<Int>()
            return Late(item: port, happen: { port.send(1) }) { call in port.setHandler { _ in call() } }
        case .borrowedDescriptor:
            let ends = Ends.pipe()
            return late(try Loop.FileDescriptorSource(ends.reader), ends)
        case .ownedDescriptor:
            let ends = Ends.pipe()
            ends.isReaderClosed = true
            return late(try Loop.FileDescriptorSource(owning: ends.reader), ends)
        case .edgeTriggered:
            let ends = Ends.pipe()
            return late(try Loop.FileDescriptorSource(ends.reader, trigger: .edge), ends)
        case .process:
            let child = Child.waiting(then: "exit 3")
            let source = try Loop.ProcessSource(child.number)
            let ended = Count()
            return Late(
                item: source,
                happen: {
                    ended.up()
                    child.goOn()
                    waitForEnd(of: child.number)
                },
                cleanUp: {
                    if ended.value == 0 { child.goOn() }
                    reap(child.number)
                },
                set: { call in source.setHandler { _, exit in if exit == .exited(3) { call() } } })
        case .signal:
            // A signal of its own: all sources of the process hear it.
            let number = 50 + nextSignal.wrappingAdd(1, ordering: .relaxed).oldValue % 14
            signal(number, SIG_IGN)
            Signals.unblock(number)
            let source = try Loop.SignalSource(number)
            let thread = Thread()
            return Late(item: source, happen: { pthread_kill(thread.number, number) }) { call in
                source.setHandler { _, _ in call() }
            }
        }
    }

    private struct Thread: @unchecked Sendable { let number = pthread_self() }

    private func late(_ timer: Loop.Timer) -> Late {
        Late(item: timer) { call in timer.setHandler { _ in call() } }
    }

    private func late(_ source: Loop.FileDescriptorSource, _ ends: Ends) -> Late {
        Late(item: source, happen: { ends.send("x") }) { call in
            source.setHandler { source, _ in
                _ = readText(source.descriptor)
                call()
            }
        }
    }

    /// What the loop does in a run in which nothing happens.
    private func idleRun(_ loop: Loop) -> Loop.Counters {
        let before = loop.counters
        #expect(loop.run(mode: .default, for: .milliseconds(1)) == .timedOut)
        return loop.counters.since(before)
    }

    @Test("What happens without a handler waits for it, and the loop sleeps", arguments: Kind.allCases)
    private func waitingForTheHandler(_ kind: Kind) throws {
        try onThreadOfItsOwn {
            let (loop, _) = Loop.inVirtualTime()
            defer { loop.end() }
            let late = try make(kind, on: loop)
            defer { late.cleanUp() }
            let calls = Count()
            #expect(loop.add(late.item))
            #expect(loop.contains(late.item))
            _ = idleRun(loop)
            late.happen()
            _ = idleRun(loop)
            let idle = idleRun(loop)
            #expect(idle.passes == 1 && idle.waits + idle.polls <= 1, "\(idle)")
            #expect("\(late.item)".contains("no handler is set ("))
            #expect("\(loop)".contains("no handler is set ("))
            loop.perform {
                let explanation = loop.explain(late.item)
                #expect("\(explanation)".hasPrefix("It is not armed: no handler is set ("))
            }
            loop.run(mode: .default, for: .zero)
            let isSet = late.set { calls.up() }
            #expect(isSet)
            for _ in 0..<3 { loop.run(mode: .default, for: .zero) }
            #expect(calls.value == 1)
            #expect(!"\(late.item)".contains("no handler"))
        }
    }

    @Test("A handler can be set before the item is added", arguments: Kind.allCases)
    private func setBeforeAdding(_ kind: Kind) throws {
        try onThreadOfItsOwn {
            let (loop, _) = Loop.inVirtualTime()
            defer { loop.end() }
            let late = try make(kind, on: loop)
            defer { late.cleanUp() }
            let calls = Count()
            let isSet = late.set { calls.up() }
            #expect(isSet)
            late.happen()
            loop.add(late.item)
            for _ in 0..<3 { loop.run(mode: .default, for: .zero) }
            #expect(calls.value == 1)
        }
    }

    @Test("A handler is set once for several modes, and for those of common", arguments: Kind.allCases)
    private func severalModes(_ kind: Kind) throws {
        try onThreadOfItsOwn {
            let (loop, _) = Loop.inVirtualTime()
            defer { loop.end() }
            let late = try make(kind, on: loop)
            defer { late.cleanUp() }
            let calls = Count()
            loop.add(late.item, in: .common)
            loop.add(late.item, in: "other")
            for mode: Loop.Mode in [.default, "other"] { loop.run(mode: mode, for: .zero) }
            late.happen()
            let isSet = late.set { calls.up() }
            #expect(isSet)
            loop.run(mode: "other", for: .zero)
            loop.run(mode: "other", for: .zero)
            #expect(calls.value == 1)
            for mode: Loop.Mode in [.default, "other"] { loop.run(mode: mode, for: .zero) }
            #expect(calls.value == 1)
        }
    }

    @Test("An item that leaves its mode without a handler leaves nothing behind", arguments: Kind.allCases)
    private func removal(_ kind: Kind) throws {
        try onThreadOfItsOwn {
            let (loop, _) = Loop.inVirtualTime()
            defer { loop.end() }
            let late = try make(kind, on: loop)
            defer { late.cleanUp() }
            loop.add(late.item)
            loop.run(mode: .default, for: .zero)
            late.happen()
            loop.remove(late.item)
            #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
            let calls = Count()
            let isSet = late.set { calls.up() }
            #expect(isSet)
            #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
            loop.add(late.item)
            for _ in 0..<3 { loop.run(mode: .default, for: .zero) }
            #expect(calls.value == 1)
            let other = try make(kind, on: loop)
            defer { other.cleanUp() }
            loop.add(other.item)
            loop.run(mode: .default, for: .zero)
            other.item.invalidate()
            #expect(!loop.contains(other.item))
            if kind.isOver { #expect(loop.run(mode: .default, for: .seconds(1)) == .finished) }
        }
    }

    @Test("A handler that another thread sets wakes a loop that sleeps", arguments: Kind.allCases)
    private func sleepingLoop(_ kind: Kind) throws {
        guard kind != .signal else { return }
        let thread = try LoopThread()
        let late = try make(kind, on: thread.loop)
        defer { late.cleanUp() }
        thread.loop.add(late.item)
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters
        late.happen()
        #expect(thread.loop.waker.isAsleep)
        let meanwhile = thread.loop.counters.since(before)
        #expect(meanwhile.wakeWrites == 0 && meanwhile.passes == 0)
        let calls = Count()
        let isSet = late.set { calls.up() }
        #expect(isSet)
        spin(until: calls.value > 0)
        // Before the descriptors are closed: a handler that ran later could read from one that has been reused.
        late.item.invalidate()
        thread.stop()
        thread.join()
        #expect(calls.value == 1)
    }

    /// An object that a handler captures.
    private final class Captured: Sendable {
        let released: Count
        init(_ released: Count) { self.released = released }
        deinit {
            Lock.assertNoneHeld()
            released.up()
        }
    }

    /// A handler that captures an object.
    private func holding(_ captured: Captured) -> @Sendable () -> Void { { withExtendedLifetime(captured) {} } }

    @Test("An invalid item takes no handler, and releases it", arguments: Kind.allCases)
    private func invalidItem(_ kind: Kind) throws {
        try onThreadOfItsOwn {
            let (loop, _) = Loop.inVirtualTime()
            defer { loop.end() }
            let late = try make(kind, on: loop)
            defer { late.cleanUp() }
            late.item.invalidate()
            let released = Count()
            let isSet = late.set(holding(Captured(released)))
            #expect(!isSet)
            #expect(released.value == 1)
        }
    }

    @Test("Each handler is released once: when it is replaced, or with the item", arguments: Kind.allCases)
    private func release(_ kind: Kind) throws {
        try onThreadOfItsOwn {
            let (loop, _) = Loop.inVirtualTime()
            defer { loop.end() }
            let late = try make(kind, on: loop)
            defer { late.cleanUp() }
            loop.add(late.item)
            let released = [Count(), Count()]
            for index in released.indices {
                let isSet = late.set(holding(Captured(released[index])))
                #expect(isSet)
            }
            #expect(released.map(\.value) == [1, 0])
            late.item.invalidate()
            #expect(released.map(\.value) == [1, 1])
        }
    }

    @Test("A handler that replaces itself finishes, and is released then", arguments: Kind.allCases)
    private func replacedInItself(_ kind: Kind) throws {
        guard !kind.isOver, kind != .repeatingTimer else { return }
        try onThreadOfItsOwn {
            let (loop, _) = Loop.inVirtualTime()
            defer { loop.end() }
            let late = try make(kind, on: loop)
            defer { late.cleanUp() }
            loop.add(late.item)
            let (log, released) = (Log<String>(), Count())
            let hold = holding(Captured(released))
            let isSet = late.set { [hold = consume hold] in
                let isReplaced = late.set { log.add("second") }
                hold()
                log.add("first, released \(released.value), \(isReplaced)")
            }
            #expect(isSet)
            late.happen()
            loop.run(mode: .default, for: .zero)
            #expect(log.entries == ["first, released 0, true"])
            #expect(released.value == 1)
            late.happen()
            for _ in 0..<2 { loop.run(mode: .default, for: .zero) }
            #expect(log.entries == ["first, released 0, true", "second"])
        }
    }

    // MARK: Particular kinds

    @Test("An observer without a handler is not called, and one that is called once stays valid")
    func observer() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let observer = Loop.Observer(.beforeTimers, repeats: false)
        let early = Loop.Observer(.beforeTimers)
        let log = Log<String>()
        loop.add(early)
        loop.add(observer)
        loop.add(Loop.Timer(every: .seconds(1)) { _ in })
        loop.run(mode: .default, for: .zero)
        #expect(observer.isValid)
        #expect("\(observer)".contains("no handler is set ("))
        observer.setHandler { _, _ in log.add("once") }
        early.setHandler { _, activity in log.add("\(activity)") }
        for _ in 0..<2 { loop.run(mode: .default, for: .zero) }
        #expect(log.entries == ["beforeTimers", "once", "beforeTimers"])
        #expect(!observer.isValid)
        early.invalidate()
        let isSet = early.setHandler { _, _ in }
        #expect(!isSet)
    }

    @Test("A repeating timer without a handler reports what it missed in its first calls")
    func missedInstants() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let timer = Loop.Timer(every: .seconds(1))
        let log = Log<[Int64]>()
        loop.add(timer)
        #expect(loop.run(mode: .default, for: .milliseconds(3500)) == .timedOut)
        timer.setHandler { log.add([$0.scheduledTime.nanoseconds / 1_000_000, Int64($0.missed)]) }
        loop.run(mode: .default, for: .milliseconds(1000))
        #expect(log.entries == [[1000, 0], [4000, 2]])
    }

    @Test("A restartable timer without a time keeps no run going without a handler either")
    func idleTimer() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let timer = Loop.Timer(restartableAfter: .seconds(1))
        loop.add(timer)
        timer.nextFireTime = nil
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        timer.restart()
        #expect(loop.run(mode: .default, for: .seconds(5)) == .timedOut)
        let calls = Count()
        timer.setHandler { _ in calls.up() }
        #expect(loop.run(mode: .default, for: .seconds(5)) == .finished)
        #expect(calls.value == 1)
    }

    @Test("A port keeps its messages and their order, and its capacity limits them")
    func messages() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let port = Loop.MessagePort<Int>(capacity: 3)
        loop.add(port)
        for number in 1...3 { #expect(port.trySend(number) == .accepted) }
        #expect(port.trySend(4) == .full)
        loop.run(mode: .default, for: .zero)
        #expect(port.waitingCount == 3)
        let log = Log<Int>()
        port.disarm()
        port.setHandler { log.add($0) }
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [])
        port.rearm()
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [1, 2, 3])
    }

    @Test("A port without a handler counts its sends, in each of its loops")
    func sends() throws {
        let (first, _) = Loop.inVirtualTime()
        let (second, _) = Loop.inVirtualTime()
        defer {
            first.end()
            second.end()
        }
        let port = try Loop.PortSource()
        for loop in [first, second] {
            loop.add(port)
            loop.run(mode: .default, for: .zero)
        }
        for _ in 0..<3 { port.send() }
        let log = Log<Int>()
        port.setHandler { log.add($0) }
        for loop in [first, second] { loop.run(mode: .default, for: .zero) }
        #expect(log.entries == [3])
        port.send()
        second.run(mode: .default, for: .zero)
        #expect(log.entries == [3, 1])
    }

    @Test("A quiet signal waits for a handler without waking the loop then")
    func quietSignal() throws {
        let thread = try LoopThread()
        let source = Loop.Source0()
        thread.loop.add(source)
        spin(until: thread.loop.waker.isAsleep)
        source.signal(wake: false)
        let calls = Count()
        source.setHandler { calls.up() }
        #expect(thread.loop.waker.isAsleep && source.isSignalled)
        thread.loop.wakeUp()
        withExtendedLifetime(thread) { spin(until: calls.value == 1) }
    }

    @Test("A source without a handler still schedules and cancels")
    func scheduling() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let source = Loop.Source0(schedule: { log.add("schedule \($1)") }, cancel: { log.add("cancel \($1)") })
        loop.add(source)
        source.setHandler { log.add("perform") }
        source.signal()
        loop.run(mode: .default, for: .zero)
        source.invalidate()
        #expect(log.entries == ["schedule default", "perform", "cancel default"])
    }

    @Test("A timer whose handler changes for ever on another thread calls one of them each time")
    func concurrentChanges() throws {
        let thread = try LoopThread()
        let timer = Loop.Timer(every: .microseconds(50))
        let (calls, released) = (Count(), Count())
        thread.loop.add(timer)
        for _ in 0..<1000 {
            let hold = holding(Captured(released))
            timer.setHandler { [hold = consume hold] _ in
                hold()
                calls.up()
            }
        }
        spin(until: calls.value > 10)
        timer.invalidate()
        // The last call may still run.
        withExtendedLifetime(thread) { spin(until: released.value == 1000) }
    }

    @Test("An item that many threads change, add, signal and invalidate releases all of its handlers")
    func everythingAtOnce() throws {
        for _ in 0..<50 {
            let thread = try LoopThread()
            let released = Count()
            let source = Loop.Source0()
            let port = try Loop.PortSource()
            let message = Loop.MessagePort<Int>()
            let work: [@Sendable () -> Void] = [
                { for item in [source, port, message] as [Loop.Item] { thread.loop.add(item) } },
                {
                    source.signal()
                    port.send()
                    message.send(1)
                },
                {
                    let captured = (0..<3).map { _ in Captured(released) }
                    source.setHandler { withExtendedLifetime(captured[0]) {} }
                    port.setHandler { _ in withExtendedLifetime(captured[1]) {} }
                    message.setHandler { _ in withExtendedLifetime(captured[2]) {} }
                },
                { for item in [source, port, message] as [Loop.Item] { thread.loop.remove(item) } },
            ]
            let threads = try work.map { body in try System.startThread(stackSize: nil) { body() } }
            for thread in threads { System.join(thread) }
            for item in [source, port, message] as [Loop.Item] { item.invalidate() }
            thread.stop()
            thread.join()
            #expect(released.value == 3)
        }
    }

    // MARK: Isolated handlers

    private actor Household {
        nonisolated let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private let timer = Loop.Timer(after: .zero)
        private let source = Loop.Source0()
        private let port: Loop.PortSource
        private let observer = Loop.Observer(.beforeTimers)
        private let messages = Loop.MessagePort<Int>()
        private let descriptor: Loop.FileDescriptorSource
        private let process: Loop.ProcessSource
        private(set) var calls: Set<String> = []

        init(_ descriptor: Int32, _ child: Int32) throws {
            thread = try LoopThread(name: "household")
            port = try Loop.PortSource()
            self.descriptor = try Loop.FileDescriptorSource(descriptor)
            process = try Loop.ProcessSource(child)
            for item in [timer, source, port, observer, messages, self.descriptor, process] as [Loop.Item] {
                thread.loop.add(item)
            }
            source.signal()
            port.send()
            messages.send(1)
            timer.setHandler(isolation: self) { home, _ in home.calls.insert("timer") }
            source.setHandler(isolation: self) { home in home.calls.insert("source") }
            port.setHandler(isolation: self) { home, _ in home.calls.insert("port") }
            observer.setHandler(isolation: self) { home, _, _ in home.calls.insert("observer") }
            messages.setHandler(isolation: self) { home, _ in home.calls.insert("message") }
            self.descriptor.setHandler(isolation: self) { home, source, _ in
                _ = readText(source.descriptor)
                home.calls.insert("descriptor")
            }
            process.setHandler(isolation: self) { home, _, _ in home.calls.insert("process") }
        }

        nonisolated var item: Loop.Item { source }
        nonisolated func signal() { source.signal() }
    }

    @Test("An actor makes its items, and sets their handlers in its init")
    func actorHandlers() async throws {
        let (ends, child) = (Ends.pipe(), Child.waiting(then: "exit 0"))
        let household = try Household(ends.reader, child.number)
        ends.send("x")
        child.goOn()
        let all: Set = ["timer", "source", "port", "observer", "message", "descriptor", "process"]
        while await household.calls != all { await Task.yield() }
        // Before the descriptors are closed, as above.
        household.thread.stop()
        household.thread.joinBlocking()
        withExtendedLifetime(ends) {}
    }

    @Test("The next call after the actor's deallocation invalidates the item")
    func deallocatedActor() async throws {
        let thread: LoopThread
        let source: Loop.Item
        let ends = Ends.pipe()
        do {
            let child = Child.waiting(then: "exit 0")
            defer { reap(child.number) }
            let household = try Household(ends.reader, child.number)
            child.goOn()
            waitForEnd(of: child.number)
            (thread, source) = (household.thread, household.item)
            while await !household.calls.contains("source") { await Task.yield() }
        }
        while source.isValid {
            (source as! Loop.Source0).signal()
            await Task.yield()
        }
        thread.stop()
        thread.joinBlocking()
        withExtendedLifetime(ends) {}
    }

    @Test("A handler of the main actor is refused by an item in another loop, and such an item by another loop")
    func mainActorHandlers() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let (loop, _) = Loop.inVirtualTime()
            let (timer, other) = (Loop.Timer(after: .zero, label: "t"), Loop.Timer(after: .zero, label: "o"))
            loop.add(timer)
            let isSet = timer.setHandler(isolation: .shared) { _ in }
            let isOtherSet = other.setHandler(isolation: .shared) { _ in }
            let isAdded = loop.add(other)
            let isReplaced = other.setHandler { _ in }
            let isAddedThen = loop.add(other)
            guard !isSet, isOtherSet, !isAdded, isReplaced, isAddedThen else { _exit(2) }
            let limiter = Throttle<Int>(interval: .zero, on: loop, label: "l")
            if limiter.setHandler(isolation: .shared, { _ in }) { _exit(3) }
            let names = mistakes.entries.map { mistake -> String? in
                if case .refusedItem(let item, .itemIsForMainActor) = mistake { item } else { nil }
            }
            _exit(names == ["timer \"t\"", "timer \"o\"", "throttle \"l\""] ? 0 : 4)
        }
    }
}
