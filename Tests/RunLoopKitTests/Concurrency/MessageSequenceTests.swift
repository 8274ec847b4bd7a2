import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// A port's messages as an asynchronous sequence.
@Suite(.timeBound) struct MessageSequenceTests {
    private typealias Port = Loop.MessagePort<Int>

    // MARK: Delivery

    @Test("Messages of many senders arrive in order, and none is lost")
    func manySenders() async throws {
        let thread = try LoopThread()
        let (port, messages) = Loop.MessagePort<(sender: Int, number: Int)>.makeMessages(on: thread.loop)
        let senders = (0..<4).map { sender in
            Task { for number in 0..<250 { #expect(port.send((sender, number))) } }
        }
        var (seen, total) = ([0, 0, 0, 0], 0)
        for await (sender, number) in messages {
            #expect(number == seen[sender])
            seen[sender] = number + 1
            total += 1
            if total == 1000 { break }
        }
        for sender in senders { await sender.value }
        #expect(seen == [250, 250, 250, 250])
    }

    @Test("A message stays in the port until it is asked for")
    func takenOnDemand() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let (port, messages) = Port.makeMessages(on: thread.loop)
        var iterator = messages.makeAsyncIterator()
        for number in 1...3 { port.send(number) }
        for taken in 0...2 {
            // Returns when the loop is idle.
            clock.advance(by: .seconds(1))
            let passes = thread.loop.counters.passes
            clock.advance(by: .seconds(1))
            #expect(port.waitingCount == 3 - taken && !port.isArmed && thread.loop.counters.passes == passes)
            #expect(await iterator.next() == taken + 1)
        }
        #expect(port.waitingCount == 0)
    }

    @Test("A task on the loop itself receives its messages")
    func taskOnTheLoop() async throws {
        let thread = try LoopThread()
        let (port, messages) = Port.makeMessages(on: thread.loop)
        let sum = Task(executorPreference: thread.loop.taskExecutor) {
            var sum = 0
            for await number in messages {
                #expect(thread.isCurrent)
                sum += number
                if number < 100 { port.send(number + 1) } else { break }
            }
            return sum
        }
        port.send(1)
        #expect(await sum.value == 5050)
    }

    @Test("A message waits for a run in its mode")
    func messageWaitsForItsMode() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let (port, messages) = Port.makeMessages(on: thread.loop, in: "modal")
        let first = Task { await messages.first { _ in true } }
        port.send(1)
        await eventually(port.isArmed)
        clock.advance(by: .seconds(1))
        #expect(port.waitingCount == 1)
        try await thread.run { _ = Loop.current.run(mode: "modal", for: .zero) }
        #expect(await first.value == 1)
    }

    @Test(
        "A message reaches the task while the loop's thread is busy, and costs the loop no pass",
        arguments: [false, true])
    func busyLoop(afterANestedRun: Bool) async throws {
        let thread = try LoopThread()
        let (port, messages) = Port.makeMessages(on: thread.loop)
        let (began, mayReturn) = (Gate(), Gate())
        thread.loop.add(Loop.Source0 {}, in: "nested")
        thread.perform {
            if afterANestedRun { thread.loop.run(mode: "nested", for: .zero) }
            began.open()
            mayReturn.wait()
        }
        await eventually(began.isOpenNow)
        let passes = thread.loop.counters.passes
        let first = Task { await messages.first { _ in true } }
        await eventually(port.isArmed)
        port.send(1)
        #expect(await first.value == 1)
        #expect(!port.isArmed, "the task asks for no other message")
        port.send(2)
        #expect(await messages.first { _ in true } == 2)
        #expect(thread.loop.counters.passes == passes)
        mayReturn.open()
    }

    @Test("A message that is sent in a run of another mode waits for that run's end")
    func nestedRunInAnotherMode() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let (port, messages) = Port.makeMessages(on: thread.loop)
        for isSentBeforeAsking in [false, true] {
            let taken = Count()
            let ask = {
                Task {
                    let message = await messages.first { _ in true }
                    taken.up()
                    return message
                }
            }
            thread.perform {
                Loop.current.add(try! Loop.PortSource { _ in }, in: "modal")
                Loop.current.run(mode: "modal", for: .seconds(60))
            }
            await eventually(thread.loop.currentMode == "modal")
            if isSentBeforeAsking { port.send(1) }
            let first = ask()
            await eventually(port.isArmed)
            if !isSentBeforeAsking { port.send(1) }
            // Returns when the loop is idle.
            clock.advance(by: .seconds(1))
            #expect(port.waitingCount == 1 && taken.value == 0)
            clock.advance(by: .seconds(60))
            #expect(await first.value == 1)
        }
    }

    /// Sometimes a sender or the task hands a message over, sometimes a pass of the loop.
    @Test("Messages stay in order while the loop changes its mode")
    func changingModes() async throws {
        let thread = try LoopThread()
        let (port, messages) = Loop.MessagePort<(sender: Int, number: Int)>.makeMessages(on: thread.loop, capacity: 3)
        let isOver = Gate()
        thread.perform {
            Loop.current.add(try! Loop.PortSource { _ in }, in: "modal")
            while !isOver.isOpenNow {
                Loop.current.run(mode: "modal", for: .milliseconds(2))
                Loop.current.run(mode: .default, for: .milliseconds(2))
            }
        }
        let senders = (0..<3).map { sender in
            Task { for number in 0..<200 { try await port.send(whenRoom: (sender, number)) } }
        }
        var seen = [0, 0, 0]
        for await (sender, number) in messages {
            #expect(number == seen[sender])
            seen[sender] = number + 1
            if seen == [200, 200, 200] { break }
        }
        isOver.open()
        for sender in senders { try await sender.value }
    }

    // MARK: The end

    @Test("A message accepted before the loop's end still arrives")
    func acceptedBeforeTheEnd() async throws {
        let thread = try LoopThread()
        let loop = thread.loop
        let (port, messages) = Port.makeMessages(on: loop)
        for number in 1...100 { port.send(number) }
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        thread.stop()
        thread.joinBlocking()
        #expect(!port.send(101) && port.isValid)
        for number in 2...100 { #expect(await iterator.next() == number) }
        #expect(await iterator.next() == nil)
        #expect(await iterator.next() == nil)
        #expect(!port.isValid)
    }

    /// Some arrive on demand, the others at the end; no accepted message is lost.
    @Test("A sender and an end at the same time agree on which messages were accepted")
    func senderAndEnd() async throws {
        for _ in 0..<20 {
            let thread = try LoopThread()
            let (port, messages) = Port.makeMessages(on: thread.loop)
            let began = Gate()
            let accepted = Task {
                var number = 0
                while port.send(number) {
                    number += 1
                    if number == 5 { began.open() }
                    await Task.yield()
                }
                return number
            }
            let taken = Task {
                var taken: [Int] = []
                for await number in messages { taken.append(number) }
                return taken
            }
            await eventually(began.isOpenNow)
            thread.stop()
            let count = await accepted.value
            #expect(await taken.value == Array(0..<count))
        }
    }

    @Test("A loop that has ended returns an empty sequence")
    func endedLoop() async throws {
        let thread = try LoopThread()
        let loop = thread.loop
        thread.stop()
        thread.joinBlocking()
        let (port, messages) = Port.makeMessages(on: loop)
        #expect(!port.isValid && !port.send(1))
        #expect(await messages.first { _ in true } == nil)
    }

    @Test("A loop deallocated with its last reference ends the sequences")
    func loopIsDeallocated() async throws {
        let (port, messages, sends, sender) = try { () throws in
            let (loop, _) = Loop.inVirtualTime()
            let (port, messages) = Port.makeMessages(on: loop)
            let (sender, sends) = try Loop.PortSource.makeSends(on: loop)
            return (port, messages, sends, sender)
        }()
        #expect(await messages.first { _ in true } == nil)
        #expect(await sends.first { _ in true } == nil)
        #expect(!port.send(1) && !sender.isValid)
    }

    @Test("Invalidating the port ends the sequence")
    func invalidation() async throws {
        let thread = try LoopThread()
        let (port, messages) = Port.makeMessages(on: thread.loop)
        let taken = Task { await messages.reduce(0) { count, _ in count + 1 } }
        await eventually(port.isArmed)
        port.invalidate()
        #expect(await taken.value == 0)
    }

    @Test("An iteration that ends leaves nothing in the loop")
    func finishedIteration() async throws {
        let thread = try LoopThread()
        let loop = thread.loop
        weak var dropped: Count?
        let port = await {
            let (port, messages) = Loop.MessagePort<Count>.makeMessages(on: loop)
            #expect(loop.count(of: "message port") == 1)
            for _ in 0..<2 {
                let message = Count()
                dropped = message
                port.send(message)
            }
            for await _ in messages { break }
            #expect(port.waitingCount == 1 && dropped != nil)
            return port
        }()
        #expect(!port.isValid && dropped == nil && loop.count(of: "message port") == 0)
    }

    @Test("Cancelling the task removes the port")
    func cancellation() async throws {
        let thread = try LoopThread()
        let (port, messages) = Port.makeMessages(on: thread.loop)
        let waiting = Task { for await _ in messages {} }
        await eventually(port.isArmed)
        waiting.cancel()
        await waiting.value
        #expect(!port.isValid && thread.loop.count(of: "message port") == 0)
        // And a task that was cancelled before it asks: queued messages do not arrive any more.
        let (late, others) = Port.makeMessages(on: thread.loop)
        late.send(1)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await others.first { _ in true }
        }
        #expect(await cancelled.value == nil)
        #expect(!late.isValid)
    }

    @Test("The loop retains nothing of a sequence that was deallocated")
    func sequenceIsDeallocated() async throws {
        let thread = try LoopThread()
        weak var kept: Port?
        do {
            let (port, messages) = Port.makeMessages(on: thread.loop)
            kept = port
            port.send(1)
            #expect(await messages.first { _ in true } == 1)
        }
        // The handler's call on the loop's thread may be about to return.
        await eventually(kept == nil)
    }

    @Test("The end of the loop refuses senders, though the port has left the loop")
    func endAfterRemoval() async throws {
        let thread = try LoopThread()
        let (port, messages) = Port.makeMessages(on: thread.loop, capacity: 1)
        thread.loop.remove(port, in: .common)
        #expect(port.send(1))
        let sender = Task.immediate { try await port.send(whenRoom: 2) }
        thread.stop()
        try await thread.waitForEnd()
        await #expect(throws: Loop.PortClosed.self) { try await sender.value }
        #expect(!port.send(3))
        var elements: [Int] = []
        for await message in messages { elements.append(message) }
        #expect(elements == [1])
    }
}
