import LoopTestSupport
import RunLoopKit
import Synchronization
import TestSupport
import Testing

/// Loops and many threads: posting, stopping, ending.
@Suite(.timeBound) struct ThreadTests {
    @Test("Every signal of many threads is followed by a perform")
    func signalsOfManyThreads() throws {
        let thread = try LoopThread()
        let asked = Count()
        let answered = Atomic<Int>(0)
        let source = Loop.Source0 { answered.store(asked.value, ordering: .sequentiallyConsistent) }
        thread.loop.add(source, in: .default)
        let signallers = try (0..<4).map { _ in
            let signaller = try LoopThread()
            signaller.perform {
                for _ in 0..<1000 {
                    let mine = asked.up()
                    source.signal()
                    // Each signal is answered in any case, without any other wake-up.
                    spin(until: answered.load(ordering: .sequentiallyConsistent) >= mine)
                }
            }
            return signaller
        }
        for signaller in signallers {
            signaller.stop()
            signaller.join()
        }
        #expect(answered.load(ordering: .sequentiallyConsistent) == 4000)
    }

    @Test("Every send of many threads is counted")
    func sendsOfManyThreads() throws {
        let thread = try LoopThread()
        let total = Atomic<Int>(0)
        let port = try Loop.PortSource { total.add($0, ordering: .sequentiallyConsistent) }
        thread.loop.add(port, in: .default)
        let senders = try (0..<4).map { _ in
            let sender = try LoopThread()
            sender.perform { for _ in 0..<5000 { port.send() } }
            return sender
        }
        for sender in senders { sender.stop() }
        spin(until: total.load(ordering: .sequentiallyConsistent) == 20_000)
    }

    @Test("A stop from another thread always ends the run")
    func stopFromAnotherThread() throws {
        let runner = try LoopThread()
        for _ in 0..<2000 {
            let entered = Gate()
            let ended = Gate()
            runner.perform {
                let loop = Loop.current
                loop.perform(in: "stopped") { entered.open() }
                let keep = Loop.Source0 {}
                loop.add(keep, in: "stopped")
                loop.run(mode: "stopped", until: .distantFuture)
                keep.invalidate()
                ended.open()
            }
            entered.wait()
            // At any point between the first pass and the sleep.
            runner.loop.stop()
            ended.wait()
        }
    }

    @Test("Other threads may add and remove items while the loop runs")
    func itemsOfOtherThreads() throws {
        let thread = try LoopThread()
        let workers = try (0..<3).map { index in
            let worker = try LoopThread()
            worker.perform {
                for round in 0..<300 {
                    let mode: Loop.Mode = round % 3 == 0 ? .common : .default
                    let items: [Loop.Item] = [
                        Loop.Source0 {}, try! Loop.PortSource { _ in }, Loop.Timer(every: .microseconds(10)) { _ in },
                        Loop.Observer { _, _ in },
                    ]
                    for item in items { precondition(thread.loop.add(item, in: mode)) }
                    (items[0] as! Loop.Source0).signal()
                    (items[1] as! Loop.PortSource).send()
                    (items[2] as! Loop.Timer).nextFireTime = .now
                    for item in items { index == 0 ? thread.loop.remove(item, in: mode) : item.invalidate() }
                    for item in items { item.invalidate() }
                }
            }
            return worker
        }
        for worker in workers {
            worker.stop()
            worker.join()
        }
        // Nothing of it is left in the loop.
        try thread.performAndWait {
            #expect("\(Loop.current)".split(separator: "\n").filter { $0.contains("timer") }.isEmpty)
        }
    }

    @Test("A timer that many threads re-time still fires")
    func timerRetimedByMany() throws {
        let thread = try LoopThread()
        let fired = Count()
        let timer = Loop.Timer(after: .seconds(3600), repeating: .seconds(3600)) { _ in fired.up() }
        thread.loop.add(timer, in: .default)
        let workers = try (0..<3).map { _ in
            let worker = try LoopThread()
            worker.perform {
                for _ in 0..<500 {
                    timer.nextFireTime = Loop.Instant.now.advanced(by: .seconds(60))
                    timer.tolerance = .seconds(1)
                    timer.tolerance = .zero
                }
            }
            return worker
        }
        for worker in workers {
            worker.stop()
            worker.join()
        }
        let before = fired.value
        timer.nextFireTime = .now
        spin(until: fired.value > before)
    }

    @Test("A stop right after a wake-up is not lost with it")
    func stopAfterAWakeUp() throws {
        let runner = try LoopThread()
        for round in 0..<1200 {
            let (entered, ended) = (Gate(), Gate())
            let keep = Loop.Source0 {}
            runner.loop.add(keep, in: "stopped")
            runner.perform {
                Loop.current.perform(in: "stopped") { entered.open() }
                Loop.current.run(mode: "stopped", until: .distantFuture)
                ended.open()
            }
            entered.wait()
            spin(until: runner.loop.isWaiting)
            runner.loop.wakeUp()
            // At different distances from the wake-up.
            for _ in 0..<(round % 400) { _ = runner.loop.isWaiting }
            runner.loop.stop()
            ended.wait()
            keep.invalidate()
        }
    }

    @Test("Of two threads that add a timer to two loops, one succeeds")
    func timerAddedTwice() throws {
        let clock = VirtualClock()
        let loops = [Loop(clock: clock), Loop(clock: clock)]
        let timer = Loop.Timer(every: .seconds(1)) { _ in }
        let workers = try loops.map { loop in
            let worker = try LoopThread()
            worker.perform {
                for _ in 0..<5000 {
                    loop.add(timer, in: .common)
                    loop.add(timer, in: "other")
                    timer.nextFireTime = seconds(5)
                    loop.remove(timer, in: "other")
                    loop.remove(timer, in: .common)
                }
            }
            return worker
        }
        for worker in workers {
            worker.stop()
            worker.join()
        }
        for loop in loops {
            #expect(!loop.contains(timer, in: .default) && !loop.contains(timer, in: "other"))
            #expect(loop.nextTimerFireTime(in: .default) == nil)
        }
        #expect(loops[0].add(timer, in: .default))
    }

    @Test("A timer may fire while another thread moves it between loops")
    func timerMovedWhileFiring() throws {
        let (one, two) = (try LoopThread(), try LoopThread())
        let fired = Count()
        let timer = Loop.Timer(every: .microseconds(1)) { _ in fired.up() }
        for _ in 0..<1000 {
            for thread in [one, two] {
                thread.loop.add(timer, in: .default)
                timer.nextFireTime = .now
                thread.loop.remove(timer, in: .default)
            }
        }
        one.loop.add(timer, in: .default)
        let before = fired.value
        spin(until: fired.value > before)
    }

    @Test("A source that is already signalled wakes the loop that it is added to")
    func sourceSignalledBefore() throws {
        let thread = try LoopThread()
        let performed = Gate()
        let source = Loop.Source0 { performed.open() }
        source.signal()
        source.signal(wake: false)  // Does not cancel the signal that wakes.
        spin(until: thread.loop.isWaiting)
        thread.loop.add(source, in: .default)
        performed.wait()
    }

    // MARK: The end of a thread

    @Test("A thread that ends removes its items and cancels its sources")
    func endOfAThread() throws {
        let cancelled = Log<String>()
        let source = Loop.Source0(cancel: { cancelled.add("\($1) \($0 === Loop.current)") }, perform: {})
        let port = try Loop.PortSource { _ in }
        let timer = Loop.Timer(after: .seconds(3600)) { _ in }
        let observer = Loop.Observer { _, _ in }
        let items: [Loop.Item] = [source, port, timer, observer]
        let thread = try LoopThread()
        for item in items {
            thread.loop.add(item, in: .common)
            thread.loop.add(item, in: "own")
        }
        thread.stop()
        thread.join()
        #expect(cancelled.entries == ["default true", "own true"])
        for item in items {
            #expect(
                item.isValid && !thread.loop.contains(item, in: .default) && !thread.loop.contains(item, in: .common))
        }
        // They can be added to another loop.
        let (loop, _) = Loop.inVirtualTime()
        for item in items { #expect(loop.add(item, in: .default)) }
    }

    @Test("A loop whose thread has ended refuses everything")
    func endedLoopRefuses() throws {
        let thread = try LoopThread()
        let loop = thread.loop
        thread.stop()
        thread.join()
        #expect(!loop.perform {})
        #expect(!loop.perform(in: ["a", "b"]) {})
        #expect(loop.performCancellable {} == nil)
        #expect(!loop.add(Loop.Source0 {}, in: .default))
        #expect(!loop.add(Loop.Timer(after: .zero) { _ in }, in: .common))
        loop.addCommonMode("late")
        loop.stop()
        loop.wakeUp()
        #expect(loop.currentMode == nil && !loop.isWaiting)
        #expect(loop.nextTimerFireTime(in: .default) == nil)
        #expect("\(loop)".contains(": ended"))
    }

    @Test("Releasing the last reference to a loop ends it")
    func lastReferenceEndsALoop() {
        let cancelled = Count()
        let source = Loop.Source0(cancel: { _, _ in cancelled.up() }, perform: {})
        weak var remains: Loop?
        do {
            let loop = Loop(clock: VirtualClock())
            remains = loop
            loop.add(source, in: .common)
            loop.perform(in: "never") { Issue.record("ran") }
            loop.run(mode: .default, for: .zero)
        }
        // A cancel handler would receive the loop, which does not exist any more.
        #expect(remains == nil && cancelled.value == 0)
        source.signal()
        source.invalidate()
        #expect(cancelled.value == 0)
    }

    @Test("A loop made by hand can be ended")
    func endedByHand() async {
        let (loop, _) = Loop.inVirtualTime()
        let notified = Log<ObjectIdentifier>()
        let kept = Log<Loop>()
        let source = Loop.Source0(
            cancel: { loop, _ in
                notified.add(ObjectIdentifier(loop))
                kept.add(loop)
            }, perform: {})
        loop.add(source, in: .default)
        loop.perform(in: "never") { Issue.record("ran") }
        let box = LoopBound(1, on: loop)
        loop.add(Loop.Source0(cancel: { _, _ in box.value += 1 }, perform: {}), in: .default)
        loop.run(mode: .default, for: .zero)
        loop.end()
        loop.end()
        #expect(notified.entries == [ObjectIdentifier(loop)] && box.value == 2)
        #expect(!loop.perform {} && loop.run(mode: .default, for: .seconds(1)) == .finished)
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Loop.current.end()
        }
        expect(result, says: ["Loop.end() was called on a loop that runs or is hosted, or that belongs to a thread"])
    }

    @Test("A handler that captures its loop retains nothing once the loop has ended")
    func handlerCapturesItsLoop() {
        weak var remains: Loop?
        do {
            let loop = Loop(clock: VirtualClock())
            remains = loop
            loop.add(Loop.Timer(every: .seconds(1)) { _ in loop.stop() }, in: .default)
            loop.run()
            loop.end()
        }
        #expect(remains == nil)
    }

    @Test("Handlers may release the last reference to anything")
    func handlersReleaseAnything() {
        let (loop, _) = Loop.inVirtualTime()
        let held = LoopBound<[AnyObject]>([], on: loop)
        let ran = Count()
        held.value = [
            Loop.Timer(after: .zero) { _ in
                held.value = []
                ran.up()
            },
            Loop.Source0 {
                held.value = []
                ran.up()
            },
            Loop.Observer(.entry, repeats: false) { _, _ in
                held.value = []
                ran.up()
            },
        ]
        for item in held.value { loop.add(item as! Loop.Item, in: .default) }
        (held.value[1] as! Loop.Source0).signal()
        (held.value[1] as! Loop.Source0).signal()
        loop.run(mode: .default, for: .seconds(1))
        #expect(ran.value == 3)
    }

    @Test("Items and loops form no retain cycles")
    func noRetainCycles() throws {
        let (loop, _) = Loop.inVirtualTime()
        final class Owner: Sendable {}
        weak var remains: Owner?
        let items: [Loop.Item]
        do {
            let owner = Owner()
            remains = owner
            items = [
                Loop.Timer(every: .seconds(1)) { _ in _ = owner }, Loop.Source0 { _ = owner },
                try Loop.PortSource { _ in _ = owner }, Loop.Observer { _, _ in _ = owner },
            ]
            for item in items { loop.add(item, in: .common) }
            loop.perform { _ = owner }
            loop.run(mode: .default, for: .seconds(3))
            #expect(remains != nil)
        }
        // Invalid items that other code still retains do not retain their handlers' captures.
        for item in items { item.invalidate() }
        #expect(remains == nil)
    }
}
