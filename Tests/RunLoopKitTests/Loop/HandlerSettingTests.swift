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

/// Handlers that items get after they were made: what holds for every kind of item.
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
            messagePort, borrowedDescriptor, ownedDescriptor, edgeTriggered, process, childProcess, signal, folder

        /// Whether it reports once only.
        var isOver: Bool {
            [.timer, .timerAtTime, .wallClockTimer, .preciseTimer, .process, .childProcess].contains(self)
        }
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
        case .childProcess:
            let ends = Ends.blockingPipe()
            let child = try Loop.ChildProcess("sh", ["-c", "read line; exit 3"], input: .descriptor(ends.reader))
            return Late(
                item: child,
                happen: {
                    ends.send("\n")
                    waitForEnd(of: child.process)
                },
                // It ends, at the latest, when the pipe is closed. The library reaps it.
                set: { call in child.setHandler { _, exit in if exit == .exited(3) { call() } } })
        case .folder:
            let folder = ScratchFolder()
            let source = try Loop.FolderSource(folder.path)
            return Late(item: source, happen: { folder.makeFile() }) { call in
                source.setHandler { _, events in if events.count == 1 { call() } }
            }
        case .signal:
            // A signal of its own: all sources of the process hear it.
            let number = 50 + nextSignal.wrappingAdd(1, ordering: .relaxed).oldValue % 14
            signal(number, SIG_IGN)
            Signals.unblock(number)
            let source = try Loop.SignalSource(number)
            // It hears its signal from the first loop on.
            let (loop, _) = Loop.inVirtualTime()
            loop.add(source)
            loop.end()
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

    @Test("An invalid item takes no handler, and releases it", arguments: Kind.allCases)
    private func invalidItem(_ kind: Kind) throws {
        try onThreadOfItsOwn {
            let (loop, _) = Loop.inVirtualTime()
            defer { loop.end() }
            let late = try make(kind, on: loop)
            defer { late.cleanUp() }
            late.item.invalidate()
            let released = Count()
            let isSet = late.set(Captured.holding(Captured(released)))
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
                let isSet = late.set(Captured.holding(Captured(released[index])))
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
            let hold = Captured.holding(Captured(released))
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
}
