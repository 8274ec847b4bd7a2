import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct MessagePortTests {
    // MARK: Order

    @Test func messagesAreHandledOneByOneInTheOrderOfSending() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> { log.add($0) }
        for number in 0..<1000 { #expect(port.send(number)) }
        #expect(port.waitingCount == 1000)
        loop.add(port, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == Array(0..<1000) && port.waitingCount == 0)
    }

    @Test func eachSendersOrderIsKept() throws {
        let thread = try LoopThread()
        let seen = LoopBound([Int](repeating: 0, count: 4), on: thread.loop)
        let (handled, wrong) = (Count(), Count())
        let port = Loop.MessagePort<(sender: Int, number: Int)> { message in
            if seen.value[message.sender] != message.number - 1 { wrong.up() }
            seen.value[message.sender] = message.number
            handled.up()
        }
        thread.loop.add(port, in: .default)
        let senders = try (0..<4).map { index in
            let sender = try LoopThread()
            sender.perform {
                for number in 1...5000 {
                    port.send((index, number))
                    // Let the loop fall asleep now and then.
                    if number % 100 == 0 { spin(until: thread.loop.isWaiting) }
                }
            }
            return sender
        }
        for sender in senders { sender.stop() }
        spin(until: handled.value == 20_000)
        #expect(wrong.value == 0)
    }

    @Test func aRunNestedInTheHandlerGoesOnWithTheNextMessage() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let port = Loop.MessagePort<Int> { number in
            log.add("begin \(number)")
            if number == 1 || number == 3 { Loop.current.run(mode: .default, for: .seconds(1)) }
            log.add("end \(number)")
        }
        loop.add(port, in: .default)
        for number in 1...5 { port.send(number) }
        loop.run(mode: .default, for: .seconds(9))
        #expect(
            log.entries == [
                "begin 1", "begin 2", "end 2", "begin 3", "begin 4", "end 4", "begin 5", "end 5", "end 3", "end 1",
            ])
    }

    /// A message that comes at the very moment at which the one before it is taken finds the queue not empty: whoever
    /// takes sees to it that the loop comes back.
    @Test func aMessageSentWhileTheOneBeforeIsTakenIsNotForgotten() throws {
        let thread = try LoopThread()
        let handled = Count()
        let port = Loop.MessagePort<Int> { _ in handled.up() }
        thread.loop.add(port, in: .default)
        for round in 1...4000 {
            port.send(1)
            // At every distance from the first.
            for _ in 0..<(round % 400) { _ = thread.loop.isWaiting }
            port.send(2)
            spin(until: handled.value == 2 * round)
        }
    }

    // MARK: Fairness and cost

    @Test func aPassHandlesNoMoreThanItsShare() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let port = Loop.MessagePort<Int> { log.add("\($0)") }
        let other = try Loop.PortSource { _ in log.add("other") }
        loop.add(port, in: .default)
        loop.add(other, in: .default)
        let share = Loop.MessagePort<Int>.messagesPerPass
        for number in 0..<(2 * share + 1) { port.send(number) }
        other.send()
        let passes = loop.counters.passes
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.firstIndex(of: "other") == share)
        #expect(log.entries.filter { $0 != "other" } == (0..<(2 * share + 1)).map(String.init))
        #expect(loop.counters.passes == passes + 5, "three shares, the other port, and one that times out")
    }

    @Test func whatTheHandlerSendsWaitsForAnotherPass() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let itself = LoopBound<Loop.MessagePort<Int>?>(nil, on: loop)
        let port = Loop.MessagePort<Int> { number in
            log.add("\(number)")
            if number < 3 { itself.value?.send(number + 1) }
        }
        itself.value = port
        loop.add(port, in: .default)
        loop.add(Loop.Observer(.beforeTimers) { _, _ in log.add("pass") }, in: .default)
        port.send(1)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["pass", "1", "pass", "2", "pass", "3", "pass"])
        itself.value = nil
    }

    /// Message ports and port sources, sent to in any order: what becomes ready first is handled first.
    @Test(arguments: 1...40 as ClosedRange<UInt64>) func portsOfBothKindsAreHandledInTheOrderInWhichTheyBecameReady(
        _ seed: UInt64
    ) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let messagePorts = (0..<4).map { number in Loop.MessagePort<Int> { _ in log.add(number) } }
        let portSources = try (4..<8).map { number in try Loop.PortSource { _ in log.add(number) } }
        for port in messagePorts + portSources as [Loop.Item] { loop.add(port, in: .default) }
        var random = seed
        for _ in 0..<5 {
            var order = Array(0..<8)
            for index in 1..<8 {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                order.swapAt(index, Int((random >> 33) % UInt64(index + 1)))
            }
            for number in order {
                if number < 4 { messagePorts[number].send(number) } else { portSources[number - 4].send() }
            }
            loop.run(mode: .default, for: .seconds(1))
            #expect(log.entries.suffix(8) == order[...])
        }
    }

    @Test func aMessageDoesNotOvertakeWhatTheKernelHasNotReportedYet() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<Int>()
        let ports = try (0..<100).map { number in try Loop.PortSource { _ in log.add(number) } }
        for port in ports { loop.add(port) }
        let port = Loop.MessagePort<Int> { log.add($0) }
        loop.add(port)
        loop.run(mode: .default, for: .seconds(1))
        for port in ports { port.send() }
        port.send(100)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == Array(0...100))
    }

    @Test(arguments: [false, true]) func aSleepingLoopKeepsTheOrderOfMessagesAndPosts(sendsFirst: Bool) throws {
        let thread = try LoopThread()
        let log = Log<String>()
        let port = Loop.MessagePort<Int> { _ in log.add("message") }
        thread.loop.add(port)
        for round in 1...200 {
            spin(until: thread.loop.waker.isAsleep)
            if sendsFirst { port.send(round) }
            thread.loop.perform { log.add("post") }
            if !sendsFirst { port.send(round) }
            spin(until: log.entries.count == 2 * round)
        }
        let expected = sendsFirst ? ["message", "post"] : ["post", "message"]
        let wrong = (0..<200).count { Array(log.entries[(2 * $0)..<(2 * $0 + 2)]) != expected }
        #expect(wrong == 0)
    }

    /// It has no turn, and stays behind what the kernel named before it.
    @Test func aDescriptorKeepsItsPlaceAmongPorts() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let pipe = Ends.pipe()
        let messages = Loop.MessagePort<Int> { _ in log.add("message") }
        let port = try Loop.PortSource { _ in log.add("port") }
        let source = try Loop.FileDescriptorSource(pipe.reader, isOneShot: true) { _, _ in log.add("descriptor") }
        for item in [source, port, messages] as [Loop.Item] { loop.add(item) }
        loop.run(mode: .default, for: .seconds(1))
        messages.send(1)
        port.send()
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["message", "port", "descriptor"])
    }

    /// More than the kernel reports at once.
    @Test func portsThatWereReadyBeforeTheirModeFirstRunsAreHandledInTheirOrder() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let ports = try (0..<100).map { number in try Loop.PortSource { _ in log.add(number) } }
        for port in ports { loop.add(port) }
        for port in ports.reversed() { port.send() }
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == (0..<100).reversed())
    }

    @Test func sendingToALoopThatIsAwakeWritesNothing() throws {
        let thread = try LoopThread()
        let handled = Count()
        let port = Loop.MessagePort<Int> { _ in handled.up() }
        thread.loop.add(port, in: .default)
        try thread.performAndWait {
            let before = Loop.current.counters.wakeWrites
            for number in 0..<50 { port.send(number) }
            #expect(Loop.current.counters.wakeWrites == before)
        }
        spin(until: handled.value == 50)
    }

    @Test func aBurstOfMessagesToASleepingLoopWritesOnce() throws {
        let thread = try LoopThread()
        let handled = Count()
        let (began, go) = (Gate(), Gate())
        let port = Loop.MessagePort<Int> { number in
            handled.up()
            guard number == 0 else { return }
            began.open()
            go.wait()
        }
        thread.loop.add(port, in: .default)
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters.wakeWrites
        port.send(0)
        began.wait()
        for number in 1..<50 { port.send(number) }
        #expect(thread.loop.counters.wakeWrites == before + 1)
        go.open()
        spin(until: handled.value == 50)
    }

    /// The loop sleeps in another mode: it has been told of the first message, and need not look again.
    @Test func moreMessagesForAQueueThatIsNotEmptyWriteNothing() throws {
        let thread = try LoopThread()
        let port = Loop.MessagePort<Int> { _ in }
        thread.loop.add(port, in: "never run")
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters.wakeWrites
        for number in 1...20 {
            port.send(number)
            spin(until: thread.loop.waker.isAsleep)
        }
        #expect(thread.loop.counters.wakeWrites <= before + 1 && port.waitingCount == 20)
    }

    @Test func sendsToAPortSourceThatIsReadyWriteNothing() throws {
        let (loop, _) = Loop.inVirtualTime()
        let counts = Log<Int>()
        let port = try Loop.PortSource { counts.add($0) }
        for _ in 0..<20 { port.send() }
        #expect(System.drain(eventFD: port.watches[0].descriptor) == 1)
        port.send()
        #expect(System.drain(eventFD: port.watches[0].descriptor) == 0)
        // Handled, it writes again.
        let mode = loop.lock.withLock { loop.state(for: .default) }
        #expect(port.perform(.read, in: mode))
        port.send()
        #expect(System.drain(eventFD: port.watches[0].descriptor) == 1 && counts.entries == [21])
        loop.end()
    }

    /// A message wakes a loop as a port does: without the pass that serves a wake-up.
    @Test func aMessageCostsOnePassAndNoWakeUp() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Loop.Activity>()
        let port = Loop.MessagePort<Int> { _ in }
        loop.add(port, in: .default)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in port.send(1) }, in: .default)
        loop.add(Loop.Observer(.all) { _, activity in log.add(activity) }, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(2)) == .timedOut)
        let pass: [Loop.Activity] = [.beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting]
        #expect(
            log.entries == [.entry] + pass + pass + pass + [.exit], "the timer, its message, and one that times out")
        #expect(loop.counters.wakeWrites == 0)
    }

    // MARK: Nothing is lost

    @Test func aStopInTheHandlerKeepsTheRestForTheNextRun() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> { number in
            log.add(number)
            Loop.current.stop()
        }
        loop.add(port, in: .default)
        loop.add(port, in: "other")
        for number in 1...4 { port.send(number) }
        for (count, mode) in zip(1..., [Loop.Mode.default, "other", .default, "other"]) {
            #expect(loop.run(mode: mode, for: .seconds(1)) == .stopped)
            #expect(log.entries == Array(1...count))
        }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries.count == 4)
    }

    @Test func aPortMovedInItsHandlerTakesTheRestAlong() throws {
        let (one, _) = Loop.inVirtualTime()
        let (two, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let itself = LoopBound<Loop.MessagePort<Int>?>(nil, on: one)
        let port = Loop.MessagePort<Int> { number in
            log.add("\(number) in \(Loop.current === one ? "one" : "two") \(Loop.current.currentMode!.name)")
            guard number < 3 else { return }
            one.remove(itself.value!, in: number == 1 ? .default : "other")
            (number == 1 ? one : two).add(itself.value!, in: number == 1 ? "other" : .default)
        }
        itself.value = port
        one.add(port, in: .default)
        for number in 1...4 { port.send(number) }
        #expect(one.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(one.run(mode: "other", for: .seconds(1)) == .finished)
        #expect(two.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == ["1 in one default", "2 in one other", "3 in two default", "4 in two default"])
        // Its handler holds the loop that holds it.
        port.invalidate()
        itself.value = nil
    }

    @Test func messagesSentWhileTheLoopStopsAndRunsAgainAreAllHandled() throws {
        let (handled, wrong) = (Count(), Count())
        let thread = try LoopThread()
        let port = Loop.MessagePort<Int> { number in
            if number != handled.value { wrong.up() }
            handled.up()
            if number % 7 == 0 { Loop.current.stop() }
        }
        thread.loop.add(port, in: .common)
        let sender = try LoopThread()
        sender.perform { for number in 0..<5000 { port.send(number) } }
        sender.stop()
        spin(until: handled.value == 5000)
        #expect(wrong.value == 0)
    }

    // MARK: One at a time

    @Test func aOneShotPortHandlesOneMessageForEachRearming() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int>(isOneShot: true) { number in
            log.add(number)
            // A nested run has to leave the rest alone too.
            Loop.current.run(mode: .default, for: .seconds(1))
        }
        loop.add(port, in: .default)
        for number in 1...3 { port.send(number) }
        for round in 1...3 {
            #expect(port.isArmed)
            loop.run(mode: .default, for: .seconds(1))
            #expect(log.entries == Array(1...round) && port.waitingCount == 3 - round && !port.isArmed)
            port.rearm()
        }
        #expect("\(loop)".hasSuffix("message port of Int: 0 waiting, one-shot"))
        port.send(4)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [1, 2, 3, 4])
        #expect("\(loop)".hasSuffix("message port of Int: 0 waiting, one-shot, disarmed"))
    }

    @Test func aDisarmedPortWakesNobodyAndRearmingItDoesOnce() throws {
        let thread = try LoopThread()
        let (began, go) = (Gate(), Gate())
        let port = Loop.MessagePort<Int> { number in
            guard number == 1 else { return }
            began.open()
            go.wait()
        }
        thread.loop.add(port, in: .default)
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters
        port.disarm()
        port.rearm()
        port.disarm()
        for number in 1...3 { port.send(number) }
        #expect(thread.loop.counters == before && thread.loop.waker.isAsleep && port.waitingCount == 3)
        port.rearm()
        port.rearm()
        began.wait()
        port.disarm()
        go.open()
        spin(until: thread.loop.waker.isAsleep)
        #expect(thread.loop.counters.wakeWrites == before.wakeWrites + 1 && port.waitingCount == 2)
        port.rearm()
        spin(until: port.waitingCount == 0)
    }

    @Test func disarmingInTheHandlerKeepsTheRestOfThePass() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let itself = LoopBound<Loop.MessagePort<Int>?>(nil, on: loop)
        let port = Loop.MessagePort<Int> { number in
            log.add(number)
            if number == 2 { itself.value?.disarm() }
        }
        itself.value = port
        loop.add(port, in: .default)
        for number in 1...4 { port.send(number) }
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [1, 2] && port.waitingCount == 2)
        port.rearm()
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [1, 2, 3, 4])
        itself.value = nil
    }

    @Test func sendingAndRearmingAtTheSameTimeForgetNoMessage() throws {
        let thread = try LoopThread()
        let handled = Count()
        let port = Loop.MessagePort<Int>(isOneShot: true) { _ in handled.up() }
        thread.loop.add(port, in: .default)
        let sender = try LoopThread()
        sender.perform { for number in 0..<4000 { port.send(number) } }
        while handled.value < 4000 { port.rearm() }
        sender.stop()
    }

    @Test func whatWaitsCanBeTakenOutWithoutTheHandler() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> { log.add($0) }
        loop.add(port, in: .default)
        for number in 1...3 { port.send(number) }
        #expect(port.takeWaiting() == [1, 2, 3] && port.takeWaiting().isEmpty)
        port.send(4)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [4])
        port.send(5)
        port.invalidate()
        #expect(port.takeWaiting().isEmpty)
    }

    // MARK: The end

    @Test func anInvalidPortRefusesMessagesAndDropsThoseThatWait() throws {
        let (loop, _) = Loop.inVirtualTime()
        weak var captured: Count?
        weak var message: Count?
        let port = try { () throws in
            let (count, sent) = (Count(), Count())
            (captured, message) = (count, sent)
            let port = Loop.MessagePort<Count> { _ in count.up() }
            #expect(port.send(sent))
            return port
        }()
        loop.add(port, in: .default)
        #expect(captured != nil && message != nil)
        port.invalidate()
        #expect(captured == nil && message == nil)
        #expect(!port.send(Count()) && port.waitingCount == 0)
        #expect(!loop.add(port, in: .default))
    }

    @Test func invalidatingInTheHandlerEndsItAtOnce() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let itself = LoopBound<Loop.MessagePort<Int>?>(nil, on: loop)
        let port = Loop.MessagePort<Int> { number in
            log.add(number)
            itself.value?.invalidate()
        }
        itself.value = port
        loop.add(port, in: .default)
        for number in 1...3 { port.send(number) }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == [1])
        itself.value = nil
    }

    @Test func aPortWhoseLoopHasEndedRefusesMessagesUntilAnotherLoopHasIt() throws {
        var ended: Loop? = Loop(clock: VirtualClock())
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> { log.add($0) }
        for (round, mode) in [Loop.Mode.default, .common].enumerated() {
            ended?.add(port, in: mode)
            #expect(port.send(round))
            if round == 0 { ended?.end() }
            ended = nil
            #expect(!port.send(-1))
            ended = Loop(clock: VirtualClock())
        }
        let (loop, _) = Loop.inVirtualTime()
        loop.add(port, in: .default)
        #expect(port.send(2))
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [0, 1, 2], "what was accepted is not lost")
        loop.remove(port, in: .default)
        #expect(port.send(3), "taken out of a living loop it waits for another")
    }

    @Test func aThreadsEndIsTheEndOfItsLoopForAPort() throws {
        let thread = try LoopThread()
        let port = Loop.MessagePort<Int> { _ in }
        thread.loop.add(port, in: .common)
        thread.stop()
        thread.join()
        #expect(!port.send(1))
    }

    @Test func aPortIsInOneLoopAtATime() throws {
        let (one, _) = Loop.inVirtualTime()
        let (two, _) = Loop.inVirtualTime()
        let port = Loop.MessagePort<Int> { _ in }
        #expect(one.add(port, in: .common) && !two.add(port, in: .default))
        port.send(1)
        #expect("\(one)".contains("message port of Int: 1 waiting"))
    }
}
