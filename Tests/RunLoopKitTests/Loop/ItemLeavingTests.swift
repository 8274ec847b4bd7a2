import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// An item leaves all of its modes at once, is notified of each leaving once, and then releases its handlers, once.
@Suite(.timeBound) struct ItemLeavingTests {
    /// The modes of the sources in these tests.
    private static let modes: [Loop.Mode] = [.default, "a", "b"]

    /// Logs its deallocation.
    private final class Captured: Sendable {
        let log: Log<String>
        init(_ log: Log<String>) { self.log = log }
        deinit { log.add("released") }
    }

    private func source(_ log: Log<String>, perform: @escaping @Sendable () -> Void = {}) -> Loop.Source0 {
        let captured = Captured(log)
        return Loop.Source0(
            schedule: { log.add("joins \($1)") },
            cancel: { [captured] in
                withExtendedLifetime(captured) {}
                log.add("leaves \($1)")
            }, perform: perform)
    }

    /// Uses a loop when it is deallocated.
    private final class Caller: Sendable {
        let loop: Loop
        let log: Log<String>
        init(_ loop: Loop, _ log: Log<String>) { (self.loop, self.log) = (loop, log) }
        deinit { log.add("released, modes: \(loop.modes.count)") }
    }

    @Test("An item that is in the common modes by name only is released without the loop's lock when the loop ends")
    func releasedByTheEnd() {
        let log = Log<String>()
        let (loop, _) = Loop.inVirtualTime()
        do {
            let source = Loop.Source0 { [caller = Caller(loop, log)] in withExtendedLifetime(caller) {} }
            loop.add(source, in: .common)
            loop.remove(source, in: .default)
        }
        #expect(log.entries.isEmpty)
        loop.end()
        #expect(log.entries == ["released, modes: 1"])
    }

    /// Of an item that leaves one loop, which ends, and joins another.
    private final class SlowItem: Loop.Item, Source1, @unchecked Sendable {
        let hasLeftFirst = Gate()
        let leavesSecond = Gate()
        let releases = Count()
        private let isSlow = UnorderedFlag()

        var watches: [Watch] { [] }
        var isPort: Bool { true }
        var readyTurn: UInt64? { 0 }
        func workBehind(_ report: Report) -> PollEvents? { nil }
        func perform(_ report: Report, in mode: ModeState) -> Int { 0 }

        func becomeSlow() { isSlow.set() }

        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }

        override func hasLeftWhileLocked(_ mode: ModeState) {
            guard isSlow.isSet else { return }
            leavesSecond.open()
            // The other thread comes to wait for the lock of the item, which this one holds.
            spin(until: itemLock.hasWaiters)
        }

        override func loopHasEnded() {
            hasLeftFirst.open()
            leavesSecond.wait()
        }

        override func releaseHandlers() { releases.up() }
    }

    @Test("Handlers are released once when an end of a loop and an invalidation meet")
    func releasedOnce() throws {
        let thread = try LoopThread(name: "has the item then")
        for _ in 0..<400 {
            let item = SlowItem()
            let ending = try System.startThread(stackSize: nil) {
                let (loop, _) = Loop.inVirtualTime()
                loop.add(item)
                loop.end()
            }
            item.hasLeftFirst.wait()
            #expect(thread.loop.add(item))
            item.becomeSlow()
            item.invalidate()
            System.join(ending)
            #expect(item.releases.value == 1)
        }
        thread.stop()
        thread.join()
    }

    /// Another loop wants the item while it is taken out of a mode, and must not get it before it is out.
    private final class WantedItem: Loop.Item, @unchecked Sendable {
        let other: Loop
        let wasGiven = Log<Bool>()

        init(by other: Loop) { self.other = other }

        override func remove(from mode: ModeState) {
            try! inParallel({ [self] in wasGiven.add(other.insert(self, in: .default)) })
        }
    }

    @Test("An item is out of its mode before another loop can have it", arguments: [Loop.Mode.default, .common])
    func outBeforeItHasLeft(mode: Loop.Mode) throws {
        let (loop, other) = (Loop.inVirtualTime().0, try LoopThread())
        defer { loop.end() }
        let item = WantedItem(by: other.loop)
        loop.add(item, in: mode)
        loop.remove(item, in: mode)
        #expect(item.wasGiven.entries == [false])
        #expect(other.loop.add(item))
    }

    @Test("Ready items that come to a mode that never runs, and leave it, take no room there")
    func readyItemsOfModeThatNeverRuns() {
        let (loop, _) = Loop.inVirtualTime()
        let stays = Loop.Source0 {}
        loop.add(stays, in: "never run")
        stays.signal()
        for _ in 0..<1_000 {
            let port = Loop.MessagePort<Int> { _ in }
            port.send(1)
            let source = Loop.Source0 {}
            source.signal()
            for item in [port, source] { loop.add(item, in: "never run") }
            loop.remove(source, in: "never run")
            port.invalidate()
        }
        let mode = loop.lock.withLock { loop.existingState(for: "never run")! }
        #expect(mode.signals.room == 2 && mode.messages.room == 1)
        loop.end()
    }

    @Test("An invalid item retains none of the modes that it was in")
    func modesOfAnInvalidItem() throws {
        weak var mode: ModeState?
        let timer = Loop.Timer(after: .seconds(3600)) { _ in }
        do {
            let thread = try LoopThread()
            for mode in Self.modes { thread.loop.add(timer, in: mode) }
            mode = thread.loop.lock.withLock { thread.loop.existingState(for: "b") }
            timer.invalidate()
            thread.stop()
            thread.join()
        }
        #expect(mode == nil)
        withExtendedLifetime(timer) {}
    }

    /// A source in two modes of each of two loops.
    private func sourceInTwoLoops(_ log: Log<String>) -> (Loop.Source0, (first: Loop, second: Loop)) {
        let loops = (first: Loop.inVirtualTime().0, second: Loop.inVirtualTime().0)
        let source = source(log)
        for loop in [loops.first, loops.second] {
            for mode in Self.modes.prefix(2) { loop.add(source, in: mode) }
        }
        return (source, loops)
    }

    @Test("A source invalidated in three modes leaves each of them once")
    func invalidatedInThreeModes() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let source = source(log)
        for mode in Self.modes { loop.add(source, in: mode) }
        source.invalidate()
        #expect(
            log.entries == [
                "joins default", "joins a", "joins b", "leaves default", "leaves a", "leaves b", "released",
            ])
    }

    @Test("An invalidated source is in no mode when it is notified")
    func inNoModeWhenNotified() {
        let (loop, _) = Loop.inVirtualTime()
        let found = Log<Bool>()
        let box = Box<Loop.Source0>()
        let source = Loop.Source0(
            cancel: { loop, _ in for mode in Self.modes { found.add(loop.contains(box.value!, in: mode)) } },
            perform: {})
        box.value = source
        for mode in Self.modes { loop.add(source, in: mode) }
        source.invalidate()
        #expect(found.entries == Array(repeating: false, count: 9))
        box.value = nil
    }

    @Test("A source invalidated in its own callout leaves each mode once")
    func invalidatedInItsCallout() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let box = Box<Loop.Source0>()
        let source = source(log) {
            box.value!.invalidate()
            log.add("performed")
        }
        box.value = source
        for mode in Self.modes { loop.add(source, in: mode) }
        source.signal()
        loop.run(for: .zero)
        #expect(
            log.entries.suffix(5) == ["leaves default", "leaves a", "leaves b", "released", "performed"])
        box.value = nil
    }

    @Test("A source invalidated in the common modes leaves each of them once")
    func invalidatedInCommon() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let source = source(log)
        for mode in Self.modes { loop.addCommonMode(mode) }
        loop.add(source, in: .common)
        source.invalidate()
        #expect(log.entries.dropFirst(3) == ["leaves default", "leaves a", "leaves b", "released"])
        #expect(!loop.contains(source, in: .common))
    }

    @Test("A source invalidated in two loops leaves each of their modes once")
    func invalidatedInTwoLoops() {
        let log = Log<String>()
        let (source, loops) = sourceInTwoLoops(log)
        source.invalidate()
        #expect(
            log.entries.dropFirst(4) == ["leaves default", "leaves a", "leaves default", "leaves a", "released"])
        withExtendedLifetime(loops) {}
    }

    /// The end of a loop removes a source from all of the loop's modes, and a later invalidation releases its handlers.
    @Test("The end of one of two loops leaves the source in the other")
    func endOfOneLoop() {
        let log = Log<String>()
        let (source, (first, second)) = sourceInTwoLoops(log)
        first.end()
        #expect(log.entries.dropFirst(4) == ["leaves default", "leaves a"])
        #expect(source.isValid && second.contains(source, in: "a"))
        source.invalidate()
        #expect(log.entries.dropFirst(6) == ["leaves default", "leaves a", "released"])
    }

    /// A source that was not notified of joining a mode is not notified of leaving it: adding to several modes notifies
    /// of one after the other.
    @Test("A source invalidated as it joins is notified of no other mode")
    func invalidatedAsItJoins() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let box = Box<Loop.Source0>()
        let source = Loop.Source0(
            schedule: {
                log.add("joins \($1)")
                box.value!.invalidate()
            },
            cancel: { log.add("leaves \($1)") }, perform: {})
        box.value = source
        for mode in Self.modes { loop.addCommonMode(mode) }
        loop.add(source, in: .common)
        #expect(log.entries == ["joins default", "leaves default"])
        box.value = nil
    }

    /// Another thread invalidates it while the schedule handler runs: the cancel handler waits for that.
    @Test("A source invalidated while it is notified of joining is notified of leaving afterwards")
    func invalidatedWhileNotified() throws {
        let worker = try LoopThread(name: "adds")
        let log = Log<String>()
        let (isHearing, isInvalid) = (Gate(), Gate())
        let box = Box<Loop.Source0>()
        box.value = Loop.Source0(
            schedule: { [captured = Captured(log)] in
                withExtendedLifetime(captured) {}
                isHearing.open()
                isInvalid.wait()
                log.add("joins \($1)")
            },
            cancel: { log.add("leaves \($1)") }, perform: {})
        worker.perform { _ = worker.loop.add(box.value!) }
        isHearing.wait()
        box.value!.invalidate()
        log.add("invalid")
        isInvalid.open()
        try worker.performAndWait {}
        #expect(log.entries == ["invalid", "joins default", "leaves default", "released"])
        box.value = nil
    }

    /// The other thread ends the second stay, whose schedule handler runs inside the first one's.
    @Test("A source added again in its schedule handler is notified of the end of each stay by that stay's call")
    func addedAgainInItsScheduleHandler() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let box = Box<Loop.Source0>()
        box.value = Loop.Source0(
            schedule: { loop, _ in
                log.add("joins")
                guard log.entries.count == 1 else { return try! inParallel({ loop.remove(box.value!) }) }
                loop.remove(box.value!)
                loop.add(box.value!)
                log.add("returns")
            },
            cancel: { _, _ in log.add("leaves") }, perform: {})
        loop.add(box.value!)
        #expect(log.entries == ["joins", "leaves", "joins", "leaves", "returns"])
        box.value = nil
    }

    @Test("A source removed and then added again in its cancel handler is in the mode")
    func addedInItsCancelHandler() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let box = Box<Loop.Source0>()
        let source = Loop.Source0(
            schedule: { log.add("joins \($1)") },
            cancel: {
                log.add("leaves \($1)")
                if log.entries.count < 4 { $0.add(box.value!, in: $1) }
            }, perform: {})
        box.value = source
        loop.add(source)
        loop.remove(source)
        #expect(log.entries == ["joins default", "leaves default", "joins default"])
        #expect(loop.contains(source))
        source.invalidate()
        #expect(log.entries.last == "leaves default" && log.entries.count == 4)
        box.value = nil
    }

    /// A borrowed descriptor that stayed in the second mode's epoll set would keep that mode awake for ever.
    @Test("A readable descriptor leaves all epoll sets")
    func epollSets() throws {
        let (loop, _) = Loop.inVirtualTime()
        let ends = Ends.pipe()
        ends.send("x")
        let source = try Loop.FileDescriptorSource(ends.reader) { _, _ in }
        for mode in Self.modes {
            loop.add(source, in: mode)
            loop.run(mode: mode, for: .zero)
        }
        source.invalidate()
        for mode in Self.modes {
            let state = loop.lock.withLock { loop.state(for: mode) }
            #expect(watchedCount(of: state.pollDescriptor) == 1, "the loop's own eventfd, in \(mode)")
        }
    }

    /// Whichever thread removes an item first, the item leaves completely: nothing stays in an epoll set, the kernel is
    /// given no closed descriptor, and each notification of joining is followed by one of leaving.
    @Test("Removing, invalidating and re-arming at the same time leave nothing behind")
    func concurrentChanges() throws {
        let thread = try LoopThread(name: "leaving")
        let loop = thread.loop
        for mode in Self.modes { loop.addCommonMode(mode) }
        try thread.performAndWait { for mode in Self.modes { try loop.prepare(mode) } }
        let log = Log<String>()
        for round in 0..<200 {
            let ends = Ends.pipe()
            let descriptor = try Loop.FileDescriptorSource(ends.reader) { _, _ in }
            let source = source(log)
            loop.add(descriptor, in: .common)
            loop.add(source, in: .common)
            try inParallel(
                {
                    for mode in Self.modes.shuffled() {
                        loop.remove(descriptor, in: mode)
                        loop.remove(source, in: mode)
                        if round % 2 == 0 { loop.add(source, in: mode) }
                    }
                },
                {
                    descriptor.invalidate()
                    source.invalidate()
                },
                {
                    descriptor.disarm()
                    descriptor.rearm()
                    descriptor.interest = [.read, .priority]
                })
        }
        for mode in Self.modes {
            #expect(log.entries.count { $0 == "joins \(mode)" } == log.entries.count { $0 == "leaves \(mode)" })
        }
        #expect(log.entries.count { $0 == "released" } == 200)
        try thread.performAndWait {
            for mode in Self.modes {
                let state = loop.lock.withLock { loop.state(for: mode) }
                // The loop's eventfd, and its timerfd if a timer needed one.
                let timers = loop.lock.withLock { loop.timerFDs.suspending == nil } ? 0 : 1
                #expect(watchedCount(of: state.pollDescriptor) == 1 + timers)
            }
        }
    }
}

/// Runs bodies on threads of their own, all at once, and waits until they have returned.
func inParallel(_ bodies: (@Sendable () -> Void)...) throws {
    let ready = Count()
    let ended = Count()
    for body in bodies {
        System.detach(
            try System.startThread(stackSize: nil) {
                ready.up()
                spin(until: ready.value == bodies.count)
                body()
                ended.up()
            })
    }
    spin(until: ended.value == bodies.count)
}

/// The number of descriptors that an epoll set watches, from the kernel.
func watchedCount(of epoll: Int32) -> Int {
    (System.readProcFile("/proc/self/fdinfo/\(epoll)") ?? "").split(separator: "\n").count { $0.hasPrefix("tfd:") }
}
