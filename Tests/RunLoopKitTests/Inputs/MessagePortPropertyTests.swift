import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Whatever handlers do: all messages are handled, each once, in order, and the loop does not sleep while a message
/// waits.
@Suite(.timeBound) struct MessagePortPropertyTests {
    private struct Random {
        var state: UInt64

        mutating func below(_ limit: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % limit
        }
    }

    private final class World: @unchecked Sendable {
        let loop = Loop(clock: VirtualClock())
        let modes: [Loop.Mode] = [.default, "other"]
        var port: Loop.MessagePort<Int>?
        var random: Random
        var (sent, handled, depth) = (0, 0, 0)
        var isInOrder = true

        init(_ seed: UInt64) { random = Random(state: seed) }

        func send(_ count: UInt64) {
            for _ in 0..<count {
                if port!.send(sent) { sent += 1 }
            }
        }

        func handle(_ number: Int) {
            if number != handled { isInOrder = false }
            handled += 1
            act()
        }

        func act() {
            let mode = modes[Int(random.below(2))]
            switch random.below(12) {
            case 0, 1: if sent < 400 { send(random.below(4)) }
            case 2: if sent < 400 { send(70) }
            case 3, 4: nest { self.loop.run(mode: mode, for: .zero) }
            case 5: nest { self.loop.run(mode: mode, for: .zero, returnAfterSourceHandled: true) }
            case 6: loop.stop()
            case 7: loop.remove(port!, in: mode)
            case 8, 9: loop.add(port!, in: mode)
            default: break
            }
        }

        private func nest(_ body: () -> Void) {
            guard depth < 3 else { return }
            depth += 1
            body()
            depth -= 1
        }
    }

    @Test("Nothing is lost or left behind, whatever handlers do")
    func unboundedPort() throws {
        for seed in 1...max(100, programCount(400)) {
            let world = World(seed)
            let port = Loop.MessagePort<Int> { world.handle($0) }
            world.port = port
            world.loop.add(Loop.Observer([.beforeWaiting, .afterWaiting]) { _, _ in world.act() }, in: .default)
            for _ in 0..<20 {
                world.send(world.random.below(5))
                world.loop.run(mode: world.modes[Int(world.random.below(2))], for: .seconds(1))
            }
            let mode = world.modes[Int(world.random.below(2))]
            world.loop.add(port, in: mode)
            var runs = 0
            while port.waitingCount > 0, runs < 2000 {
                world.loop.add(port, in: mode)
                world.loop.run(mode: mode, for: .seconds(1))
                runs += 1
            }
            #expect(world.isInOrder && world.handled == world.sent && port.waitingCount == 0, "seed \(seed)")
            port.invalidate()
            world.port = nil
            world.loop.end()
        }
    }

    // MARK: With a capacity

    private enum Answer { case accepted, withdrawn, closed }

    /// A port with a capacity, whose handlers do everything at any moment, and a model of it: the numbers in the queue,
    /// those that wait for room, and the answers of their calls.
    private final class BoundedWorld: @unchecked Sendable {
        let loop = Loop(clock: VirtualClock())
        var port: Loop.MessagePort<Int>!
        var random: Random
        let capacity: Int
        var (sent, depth, isValid) = (0, 0, true)
        var (queue, waiting) = ([Int](), [Int]())
        var calls: [Int: WaitingSender<Int>] = [:]
        var answers: [Int: Answer] = [:]
        var faults: [String] = []

        init(_ seed: UInt64) {
            random = Random(state: seed)
            capacity = Int(random.below(4)) + 1
        }

        func expect(_ condition: Bool, _ fault: String) { if !condition { faults.append(fault) } }

        func send(waits: Bool) {
            defer { sent += 1 }
            let isFull = queue.count == capacity
            switch port.offer(sent, waiting: waits) {
            case .accepted:
                expect(isValid && !isFull && waiting.isEmpty, "\(sent) accepted")
                queue.append(sent)
            case .full: expect(isValid && isFull && !waits, "\(sent) refused")
            case .closed: expect(!isValid, "\(sent) closed")
            case .waits(let call):
                expect(isValid && isFull && waits, "\(sent) waits")
                waiting.append(sent)
                calls[sent] = call
            }
        }

        private func admit() {
            while queue.count < capacity, !waiting.isEmpty {
                let number = waiting.removeFirst()
                answers[number] = .accepted
                queue.append(number)
            }
        }

        func handle(_ number: Int) {
            expect(queue.first == number, "\(number) handled, not \(queue)")
            queue.removeAll { $0 == number }
            admit()
            act()
        }

        func act() {
            switch random.below(20) {
            case 0...3: for _ in 0...random.below(5) where sent < 300 { send(waits: true) }
            case 4, 5: for _ in 0...random.below(3) where sent < 300 { send(waits: false) }
            case 6, 7: withdrawOne()
            case 8:
                let expected = queue
                queue = []
                admit()
                let taken = port.takeWaiting()
                expect(taken == expected, "took \(taken), not \(expected)")
            case 9, 10: nest { self.loop.run(mode: .default, for: .zero) }
            case 11: loop.stop()
            case 12: loop.remove(port)
            case 13...15: loop.add(port)
            case 16: port.disarm()
            case 17, 18: port.rearm()
            default: if random.below(40) == 0 { close { self.port.invalidate() } }
            }
            expect(
                port.waitingCount == queue.count && port.waitingSenderCount == waiting.count,
                "\(port.waitingCount) wait, not \(queue); \(port.waitingSenderCount) senders, not \(waiting)")
        }

        private func withdrawOne() {
            guard !waiting.isEmpty else { return }
            let number = waiting.remove(at: Int(random.below(UInt64(waiting.count))))
            answers[number] = .withdrawn
            for _ in 0..<2 { port.withdraw(calls[number]!) }
        }

        func close(_ body: () -> Void) {
            for number in waiting { answers[number] = .closed }
            (queue, waiting, isValid) = ([], [], false)
            body()
        }

        private func nest(_ body: () -> Void) {
            guard depth < 3 else { return }
            depth += 1
            body()
            depth -= 1
        }

        func play() {
            port = Loop.MessagePort<Int>(capacity: capacity) { self.handle($0) }
            loop.add(Loop.Observer([.beforeWaiting, .afterWaiting]) { _, _ in self.act() })
            loop.add(port)
            for _ in 0..<40 {
                act()
                loop.run(mode: .default, for: .seconds(1))
            }
            guard isValid else { return loop.end() }
            // A loop that has nothing more to do has left no message that could be handled.
            loop.add(port)
            port.rearm()
            for _ in 0..<2000 where port.waitingCount > 0 {
                loop.run(mode: .default, for: .seconds(1))
                loop.add(port)
                port.rearm()
            }
            expect(queue.isEmpty && waiting.isEmpty, "\(queue) and \(waiting) were left")
            // The loop's end ends the port while a sender waits.
            port.disarm()
            for _ in 0..<(capacity + 2) { send(waits: true) }
            let queued = queue
            close { self.loop.end() }
            expect(port.takeWaiting() == queued, "an accepted message was lost")
            port.invalidate()
        }
    }

    /// No message overtakes another, the capacity is never exceeded, and each call that waited for room gets the answer
    /// that matches its message's outcome.
    @Test("Whatever handlers do, a bounded port keeps its order and its bound and answers senders")
    func boundedPort() async throws {
        var seen: [Answer: Int] = [:]
        for seed in 1...max(50, programCount(150)) {
            let made = Box<BoundedWorld>()
            try onThreadOfItsOwn {
                let world = BoundedWorld(seed)
                world.play()
                made.value = world
            }
            let world = try #require(made.value)
            #expect(world.faults == [], "seed \(seed)")
            for (number, call) in world.calls {
                let answer = await answer(to: call)
                #expect(answer == world.answers[number], "seed \(seed), message \(number)")
                seen[answer, default: 0] += 1
            }
            world.port = nil
        }
        #expect(seen.count == 3, "the programs come to everything: \(seen)")
    }

    private func answer(to call: WaitingSender<Int>) async -> Answer {
        do {
            try await call.answer.value {}
            return .accepted
        } catch {
            return error is CancellationError ? .withdrawn : .closed
        }
    }

    // MARK: Messages with a deinit

    /// Sends to its port in its deinit.
    private final class Parting: @unchecked Sendable {
        let port: Loop.MessagePort<Parting?>
        let answers: Log<Bool>

        init(_ port: Loop.MessagePort<Parting?>, _ answers: Log<Bool>) { (self.port, self.answers) = (port, answers) }

        deinit { answers.add(port.send(nil)) }
    }

    @Test("A message may send in its deinit")
    func messageSendsInDeinit() throws {
        let (loop, _) = Loop.inVirtualTime()
        let handled = Log<Bool>()
        let answers = Log<Bool>()
        let port = Loop.MessagePort<Parting?> { handled.add($0 != nil) }
        loop.add(port, in: .default)
        port.send(Parting(port, answers))
        loop.run(mode: .default, for: .seconds(1))
        #expect(handled.entries == [true, false] && answers.entries == [true])
        // Released while it waits, and refused.
        port.send(Parting(port, answers))
        port.invalidate()
        #expect(answers.entries == [true, false])
        #expect(!port.send(Parting(port, answers)))
        #expect(answers.entries == [true, false, false] && handled.entries.count == 2)
    }

    /// Accepted messages have been handled or released, and no message is accepted afterwards.
    @Test("Senders that race with the end leave nothing behind")
    func raceWithTheEnd() throws {
        for _ in 0..<50 {
            let thread = try LoopThread()
            let (alive, handled, accepted) = (Count(), Count(), Count())
            final class Message: Sendable {
                let alive: Count
                init(_ alive: Count) { self.alive = alive }
                deinit { alive.upBy(-1) }
            }
            let port = Loop.MessagePort<Message> { _ in handled.up() }
            thread.loop.add(port, in: .default)
            let senders = try (0..<2).map { _ in
                let sender = try LoopThread()
                sender.perform {
                    while true {
                        alive.up()
                        guard port.send(Message(alive)) else { break }
                        accepted.up()
                    }
                }
                return sender
            }
            spin(until: accepted.value > 20)
            port.invalidate()
            for sender in senders {
                sender.stop()
                sender.join()
            }
            thread.stop()
            thread.join()
            #expect(alive.value == 0 && handled.value <= accepted.value && port.waitingCount == 0)
        }
    }
}
