import LoopTestSupport
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

/// Handlers that items get after they were made: what single kinds do, and handlers that are isolated to an actor.
@Suite(.timeBound) struct HandlerSettingOfKindsTests {
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

    @Test("A folder's events wait in their order, and a subfolder is watched from the first call on")
    func folderEvents() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let folder = ScratchFolder()
        let source = try Loop.FolderSource(folder.path, options: .subfolders)
        loop.add(source)
        folder.makeFile()
        let subfolder = folder.path + "/sub"
        #expect(mkdir(subfolder, 0o755) == 0 && mknod(subfolder + "/x", S_IFREG | 0o644, 0) == 0)
        loop.run(mode: .default, for: .zero)
        #expect(source.watchCount == 1)
        let log = Log<[String]>()
        source.setHandler { source, events in
            log.add(events.map(\.description))
            source.setHandler { _, events in log.add(["second"] + events.map(\.description)) }
        }
        loop.run(mode: .default, for: .zero)
        #expect(source.watchCount == 2)
        #expect(remove(subfolder + "/x") == 0 && rmdir(subfolder) == 0)
        loop.run(mode: .default, for: .zero)
        #expect(log.entries.first == ["created 0", "created sub/", "created sub/x"])
        #expect(log.entries.dropFirst() == [["second", "deleted sub/x", "deleted sub/"]])
    }

    @Test("A folder that is gone invalidates its source when that has a handler")
    func goneFolder() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let source: Loop.FolderSource
        do {
            let folder = ScratchFolder()
            source = try Loop.FolderSource(folder.path)
        }
        loop.add(source)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut && source.isValid)
        let log = Log<Loop.FolderSource.Event>()
        source.setHandler { _, events in for event in events { log.add(event) } }
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [.gone] && !source.isValid)
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
        let source = Loop.Source0(
            schedule: { log.add("schedule \($1)") }, cancel: { log.add("cancel \($1)") }, perform: nil)
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
            let hold = Captured.holding(Captured(released))
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
        private let folder: Loop.FolderSource
        private(set) var calls: Set<String> = []

        init(_ descriptor: Int32, _ child: Int32, _ path: String) throws {
            thread = try LoopThread(name: "household")
            port = try Loop.PortSource()
            self.descriptor = try Loop.FileDescriptorSource(descriptor)
            process = try Loop.ProcessSource(child)
            folder = try Loop.FolderSource(path)
            for item in [timer, source, port, observer, messages, self.descriptor, process, folder] as [Loop.Item] {
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
            folder.setHandler(isolation: self) { home, _, _ in home.calls.insert("folder") }
        }

        nonisolated var item: Loop.Item { source }
        nonisolated func signal() { source.signal() }
    }

    @Test("An actor makes its items, and sets their handlers in its init")
    func actorHandlers() async throws {
        let (ends, child, folder) = (Ends.pipe(), Child.waiting(then: "exit 0"), ScratchFolder())
        let household = try Household(ends.reader, child.number, folder.path)
        ends.send("x")
        folder.makeFile()
        child.goOn()
        let all: Set = ["timer", "source", "port", "observer", "message", "descriptor", "process", "folder"]
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
        let (ends, folder) = (Ends.pipe(), ScratchFolder())
        do {
            let child = Child.waiting(then: "exit 0")
            defer { reap(child.number) }
            let household = try Household(ends.reader, child.number, folder.path)
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
            let worker = try LoopThread()
            let loop = worker.loop
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
            let queue = PacedQueue<Int>(1, per: .zero, capacity: 1, on: loop, label: "q")
            if queue.setHandler(isolation: .shared, { _ in }) { _exit(3) }
            let names = mistakes.entries.map { mistake -> String? in
                if case .refusedItem(let item, .itemIsForMainActor) = mistake { item } else { nil }
            }
            _exit(names == ["timer \"t\"", "timer \"o\"", "throttle \"l\"", "paced queue \"q\""] ? 0 : 4)
        }
    }
}
