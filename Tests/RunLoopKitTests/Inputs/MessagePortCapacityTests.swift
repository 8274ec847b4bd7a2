import LoopTestSupport
import Testing

@testable import RunLoopKit

/// Ports with a capacity: which sends are refused, which wait, and that every waiting sender gets an answer.
@Suite(.timeBound) struct MessagePortCapacityTests {
    private typealias Port = Loop.MessagePort<Int>

    /// A call of `send(whenRoom:)` in a task of its own, which already waits when this returns.
    private func waitingSend(_ number: Int, to port: Port) async -> Task<Void, any Error> {
        let waiting = port.waitingSenderCount
        let task = Task { try await port.send(whenRoom: number) }
        await eventually(port.waitingSenderCount == waiting + 1)
        return task
    }

    // MARK: A full port

    @Test("A full port refuses messages and says so")
    func fullPort() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<Int>()
        let port = Port(capacity: 3) { log.add($0) }
        loop.add(port)
        #expect((1...3).map(port.trySend) == [.accepted, .accepted, .accepted])
        #expect(port.trySend(4) == .full && !port.send(5) && port.waitingCount == 3)
        #expect("\(loop)".hasSuffix("): 3 waiting of 3"))
        loop.run(mode: .default, for: .zero)
        #expect(port.trySend(6) == .accepted)
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [1, 2, 3, 6])
        port.invalidate()
        #expect(port.trySend(7) == .closed)
    }

    @Test("A port without a capacity is never full")
    func noCapacity() async throws {
        let port = Port { _ in }
        #expect(port.capacity == nil)
        for number in 0..<10_000 { try await port.send(whenRoom: number) }
        #expect(port.waitingCount == 10_000 && port.trySend(10_000) == .accepted)
    }

    @Test("A capacity below one counts as one", arguments: [0, -1, Int.min])
    func capacityBelowOne(_ capacity: Int)
        throws
    {
        let port = Port(capacity: capacity) { _ in }
        #expect(port.capacity == 1 && port.trySend(1) == .accepted && port.trySend(2) == .full)
    }

    /// The message that is being handled has left the queue.
    @Test("A handler of a full port has room to send one message")
    func roomInTheHandler() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let answers = Log<Loop.SendAnswer>()
        let itself = LoopBound<Port?>(nil, on: loop)
        let port = Port(capacity: 1) { number in
            guard number == 1, let port = itself.value else { return }
            answers.add(port.trySend(2))
            answers.add(port.trySend(3))
        }
        itself.value = port
        loop.add(port)
        port.send(1)
        loop.run(mode: .default, for: .seconds(1))
        #expect(answers.entries == [.accepted, .full] && port.waitingCount == 0)
        itself.value = nil
    }

    // MARK: Waiting for room

    @Test("A sender waits until there is room, and no message overtakes its own")
    func senderWaits() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let log = Log<Int>()
        let port = Port(capacity: 2, isOneShot: true) { log.add($0) }
        port.disarm()
        thread.loop.add(port)
        #expect(port.send(1) && port.send(2))
        var senders: [Task<Void, any Error>] = []
        for number in 3...5 { senders.append(await waitingSend(number, to: port)) }
        #expect(port.trySend(9) == .full && port.waitingCount == 2)
        #expect("\(thread.loop)".contains("): 2 waiting of 2, 3 senders suspended"))
        for handled in 1...5 {
            port.rearm()
            clock.advance(by: .seconds(1))
            #expect(log.entries == Array(1...handled))
            #expect(port.waitingSenderCount == max(0, 3 - handled) && port.waitingCount == min(2, 5 - handled))
        }
        for sender in senders { try await sender.value }
    }

    /// Messages that arrive during a pass's share wait for another pass, also if a sender waited.
    @Test("Messages of waiting senders come in later passes")
    func laterPasses() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let log = Log<String>()
        let port = Port(capacity: 2) { log.add("\($0)") }
        port.send(1)
        port.send(2)
        let third = await waitingSend(3, to: port)
        let fourth = await waitingSend(4, to: port)
        try thread.performBlocking {
            Loop.current.add(Loop.Observer(.beforeTimers) { _, _ in log.add("pass") })
            Loop.current.add(port)
        }
        clock.advance(by: .seconds(1))
        try await third.value
        try await fourth.value
        // The advance may wake the loop for a pass of its own.
        let order = log.entries.drop { $0 != "1" }
        #expect(order.starts(with: ["1", "2", "pass"]) && order.drop { $0 != "3" }.starts(with: ["3", "4"]))
    }

    private actor Caller {
        let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }

        init(_ thread: LoopThread) { self.thread = thread }

        /// Makes calls that no loop answers yet. Returns their tasks, and how many calls had been entered when their
        /// task first suspended.
        func call(_ port: Port, _ numbers: Range<Int>) -> (tasks: [Task<Void, any Error>], entered: Int) {
            var entered = 0
            let tasks = numbers.map { number in
                let before = port.waitingCount + port.waitingSenderCount
                let task = Task.immediate {
                    _ = self  // Isolates the task to the actor.
                    try await port.send(whenRoom: number)
                }
                if port.waitingCount + port.waitingSenderCount == before + 1 { entered += 1 }
                return task
            }
            return (tasks, entered)
        }
    }

    @Test("Calls of one actor are entered and accepted in their order")
    func callsOfOneActor() async throws {
        let (callers, thread) = (try LoopThread(name: "callers"), try LoopThread())
        let caller = Caller(callers)
        for _ in 0..<20 {
            let log = Log<Int>()
            let port = Port(capacity: 1) { log.add($0) }
            let (tasks, entered) = await caller.call(port, 0..<100)
            #expect(entered == 100)
            thread.loop.add(port)
            for task in tasks { try await task.value }
            await eventually(log.entries.count == 100)
            #expect(log.entries == Array(0..<100))
            port.invalidate()
        }
    }

    @Test("Each task's order is kept, and the capacity is never exceeded")
    func orderAndBound() async throws {
        let thread = try LoopThread()
        let seen = LoopBound([Int](repeating: -1, count: 4), on: thread.loop)
        let (wrong, tooMany) = (Count(), Count())
        let itself = LoopBound<Loop.MessagePort<(sender: Int, number: Int)>?>(nil, on: thread.loop)
        let port = Loop.MessagePort<(sender: Int, number: Int)>(capacity: 5) { message in
            if seen.value[message.sender] != message.number - 1 { wrong.up() }
            seen.value[message.sender] = message.number
            if let port = itself.value, port.waitingCount > 5 { tooMany.up() }
        }
        try await thread.run {
            itself.value = port
            Loop.current.add(port)
        }
        try await withThrowingTaskGroup { group in
            for sender in 0..<4 {
                group.addTask { for number in 0..<1000 { try await port.send(whenRoom: (sender, number)) } }
            }
            try await group.waitForAll()
        }
        await eventually(port.waitingCount == 0)
        let last = try await thread.run { () -> [Int] in
            itself.value = nil
            return seen.value
        }
        #expect(last == [999, 999, 999, 999] && wrong.value == 0 && tooMany.value == 0)
    }

    // MARK: Cancellation

    @Test("A cancelled sender leaves the queue, and its message is not sent")
    func cancelledSender() async throws {
        let (log, port, thread) = try filled()
        var senders: [Task<Void, any Error>] = []
        for number in 2...4 { senders.append(await waitingSend(number, to: port)) }
        senders[1].cancel()
        await #expect(throws: CancellationError.self) { try await senders[1].value }
        #expect(port.waitingSenderCount == 2)
        thread.loop.add(port)
        try await senders[0].value
        try await senders[2].value
        await eventually(log.entries.count == 3)
        #expect(log.entries == [1, 2, 4])
        senders[0].cancel()  // Too late: it has no effect.
    }

    @Test("A task that is already cancelled sends nothing")
    func cancelledBefore() async throws {
        let port = Port(capacity: 1) { _ in }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await port.send(whenRoom: 1)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(port.waitingCount == 0)
    }

    /// Each message is either in the queue or its call has thrown, whichever comes first.
    @Test("Cancellation at any moment agrees with what is handled")
    func cancelledAtAnyMoment() async throws {
        let thread = try LoopThread()
        let (handled, accepted) = (Log<Int>(), Log<Int>())
        let port = Port(capacity: 1) { handled.add($0) }
        thread.loop.add(port)
        for round in 0..<100 {
            let tasks = (0..<5).map { number in
                Task {
                    try await port.send(whenRoom: 5 * round + number)
                    accepted.add(5 * round + number)
                }
            }
            for task in tasks.shuffled().prefix(3) { task.cancel() }
            for task in tasks { _ = await task.result }
        }
        await eventually(port.waitingCount == 0 && handled.entries.count == accepted.entries.count)
        #expect(handled.entries.sorted() == accepted.entries.sorted())
        #expect(port.waitingSenderCount == 0)
    }

    @Test("Senders that give up do not stay in memory")
    func sendersAreReleased() throws {
        var line = WaitingSenders<Count>()
        let first = WaitingSender(Count())
        line.append(first)
        final class Weak { weak var sender: WaitingSender<Count>? }
        var withdrawn: [Weak] = []
        for _ in 0..<1000 {
            let sender = WaitingSender(Count())
            line.append(sender)
            #expect(line.withdraw(sender) != nil && line.withdraw(sender) == nil)
            withdrawn.append(Weak())
            withdrawn[withdrawn.count - 1].sender = sender
        }
        #expect(withdrawn.count { $0.sender != nil } < 20 && line.count == 1)
        #expect(line.takeFirst()?.sender === first && line.takeFirst() == nil && line.isEmpty)
        #expect(line.withdraw(first) == nil && line.count == 0)
    }

    // MARK: The end

    private func filled() throws -> (Log<Int>, Port, LoopThread) {
        let log = Log<Int>()
        let port = Port(capacity: 1) { log.add($0) }
        port.send(1)
        return (log, port, try LoopThread())
    }

    @Test("Invalidation answers waiting senders")
    func invalidation() async throws {
        let (log, port, _) = try filled()
        let senders = [await waitingSend(2, to: port), await waitingSend(3, to: port)]
        port.invalidate()
        for sender in senders { await #expect(throws: Loop.PortClosed()) { try await sender.value } }
        await #expect(throws: Loop.PortClosed()) { try await port.send(whenRoom: 4) }
        #expect(log.entries.isEmpty)
    }

    @Test("The loop's end answers waiting senders", arguments: [Loop.Mode.default, .common, "never run"])
    func endOfTheLoop(_ mode: Loop.Mode) async throws {
        let (log, port, thread) = try filled()
        port.disarm()
        thread.loop.add(port, in: mode)
        let sender = await waitingSend(2, to: port)
        thread.stop()
        thread.joinBlocking()
        await #expect(throws: Loop.PortClosed()) { try await sender.value }
        await #expect(throws: Loop.PortClosed()) { try await port.send(whenRoom: 3) }
        // Another loop handles the accepted messages, and the port accepts messages again.
        let other = try LoopThread()
        other.loop.add(port)
        port.rearm()
        try await port.send(whenRoom: 4)
        await eventually(log.entries.count == 2)
        #expect(log.entries == [1, 4])
    }

    @Test("Removing the port from its loop ends nothing")
    func removedFromItsLoop() async throws {
        let (log, port, thread) = try filled()
        port.disarm()
        thread.loop.add(port)
        let sender = await waitingSend(2, to: port)
        thread.loop.remove(port)
        thread.stop()
        thread.joinBlocking()
        #expect(port.waitingSenderCount == 1)
        let other = try LoopThread()
        other.loop.add(port)
        port.rearm()
        try await sender.value
        await eventually(log.entries.count == 2)
        #expect(log.entries == [1, 2])
    }

    /// A waiting task retains the port, so no task waits for a deallocated one. A call that does not retain it gets an
    /// answer.
    @Test("A deallocated port answers waiting senders")
    func portIsDeallocated() async throws {
        var port: Port? = Port(capacity: 1) { _ in }
        port?.send(1)
        guard case .waits(let sender)? = port?.offer(2, waiting: true) else { return #expect(Bool(false)) }
        port = nil
        await #expect(throws: Loop.PortClosed()) { try await sender.answer.value {} }
    }

    @Test("Taking out waiting messages makes room")
    func takeWaitingMakesRoom() async throws {
        let (log, port, thread) = try filled()
        let sender = await waitingSend(2, to: port)
        #expect(port.takeWaiting() == [1])
        try await sender.value
        #expect(port.waitingCount == 1)
        thread.loop.add(port)
        await eventually(log.entries == [2])
    }

    /// The loop sleeps, and its port was empty for a moment.
    @Test("A message sent to an emptied queue wakes the loop")
    func emptiedQueue() async throws {
        let (log, port, thread) = try filled()
        port.disarm()
        thread.loop.add(port)
        let sender = await waitingSend(2, to: port)
        #expect(port.takeWaiting() == [1])
        try await sender.value
        port.rearm()
        await eventually(log.entries == [2])
    }

    // MARK: Sequences

    @Test("A sequence's task holds up its senders")
    func sequenceHoldsSendersUp() async throws {
        let thread = try LoopThread()
        let (port, messages) = Port.makeMessages(on: thread.loop, capacity: 3)
        let accepted = Count()
        let producer = Task {
            for number in 0..<200 {
                try await port.send(whenRoom: number)
                accepted.up()
            }
        }
        var taken = 0
        for await number in messages {
            #expect(number == taken)
            taken += 1
            // Those that it took, those that wait, and no others.
            #expect(accepted.value <= taken + 3)
            if taken == 200 { break }
        }
        try await producer.value
    }

    @Test("The end of a sequence answers its senders and loses no accepted message")
    func endOfASequence() async throws {
        for _ in 0..<20 {
            let thread = try LoopThread()
            let (port, messages) = Port.makeMessages(on: thread.loop, capacity: 2)
            let began = Gate()
            let producer = Task {
                var number = 0
                do {
                    while true {
                        try await port.send(whenRoom: number)
                        number += 1
                        if number == 5 { began.open() }
                    }
                } catch {
                    #expect(error is Loop.PortClosed)
                }
                return number
            }
            let consumer = Task {
                var taken: [Int] = []
                for await number in messages { taken.append(number) }
                return taken
            }
            await eventually(began.isOpenNow)
            thread.stop()
            let count = await producer.value
            #expect(await consumer.value == Array(0..<count))
        }
    }

    @Test("Releasing the sequence answers its senders")
    func sequenceIsDropped() async throws {
        let thread = try LoopThread()
        var (port, messages): (Port, Port.Messages?) = Port.makeMessages(on: thread.loop, capacity: 1)
        port.send(1)
        let sender = await waitingSend(2, to: port)
        _ = consume messages
        messages = nil
        await #expect(throws: Loop.PortClosed()) { try await sender.value }
    }
}
