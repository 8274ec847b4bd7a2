import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Message ports: each message is handled once, in the order of sending, and a pass handles only its share.
@Suite(.timeBound) struct MessagePortTests {
    @Test("Messages are handled one by one, in the order of sending")
    func orderOfSending() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> { log.add($0) }
        for number in 0..<1000 { #expect(port.send(number)) }
        #expect(port.waitingCount == 1000)
        loop.add(port, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == Array(0..<1000) && port.waitingCount == 0)
    }

    @Test("Each sender's order is kept")
    func orderOfEachSender() throws {
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

    @Test("A run nested in the handler continues with the next message")
    func nestedRun() throws {
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

    /// A message sent at the very moment at which the one before it is taken finds a queue that is not empty: the loop
    /// that takes that one must come back.
    @Test("A message sent while the one before it is taken is not lost")
    func sentWhileTaking() throws {
        let thread = try LoopThread()
        let handled = Count()
        let port = Loop.MessagePort<Int> { _ in handled.up() }
        thread.loop.add(port, in: .default)
        for round in 1...4000 {
            port.send(1)
            // At different distances from the first.
            for _ in 0..<(round % 400) { _ = thread.loop.isWaiting }
            port.send(2)
            spin(until: handled.value == 2 * round)
        }
    }

    @Test("A pass handles no more than its share")
    func sharePerPass() throws {
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
        let numbers: [String] = (0...2 * share).map { "\($0)" }
        #expect(log.entries.filter { $0 != "other" } == numbers)
        #expect(loop.counters.passes == passes + 5, "three shares, the other port, and one that times out")
    }

    @Test("A message that the handler sends waits for another pass")
    func sentByTheHandler() throws {
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

    @Test("A stop in the handler keeps the rest for the next run")
    func stopInTheHandler() throws {
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

    @Test("A port moved in its handler takes the rest along")
    func movedInItsHandler() throws {
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
        // Its handler retains the loop that retains it.
        port.invalidate()
        itself.value = nil
    }

    @Test("Messages sent while the loop stops and runs again are all handled")
    func loopStopsAndRuns() throws {
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

    @Test("A port is in one loop at a time")
    func oneLoopAtATime() throws {
        let (one, _) = Loop.inVirtualTime()
        let (two, _) = Loop.inVirtualTime()
        let port = Loop.MessagePort<Int> { _ in }
        #expect(one.add(port, in: .common) && !two.add(port, in: .default))
        port.send(1)
        #expect("\(one)".contains("): 1 waiting"))
    }
}
