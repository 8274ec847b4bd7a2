import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Ports of all kinds are served in the order in which they became ready.
@Suite(.timeBound) struct PortOrderTests {
    /// Message ports and port sources in any order: the port that becomes ready first is handled first.
    @Test(
        "Ports of both kinds are handled in the order in which they became ready",
        arguments: 1...40 as ClosedRange<UInt64>)
    func portsOfBothKinds(_ seed: UInt64) throws {
        let (loop, _) = Loop.inVirtualTime()
        try checkOrder(seed) { $0(loop) }
    }

    /// A loop that lives by the machine's clock has sequence numbers of its own.
    @Test(
        "Ports of both kinds are handled in the order in which they became ready, in real time",
        arguments: 1...40 as ClosedRange<UInt64>)
    func portsOfBothKindsInRealTime(_ seed: UInt64) throws {
        let thread = try LoopThread()
        try checkOrder(seed) { body in try thread.performAndWait { body(thread.loop) } }
    }

    /// - Parameter perform: Calls its argument on the thread of a loop, with the loop.
    private func checkOrder(_ seed: UInt64, perform: (@escaping @Sendable (Loop) -> Void) throws -> Void) throws {
        let log = Log<Int>()
        let messagePorts = (0..<4).map { number in Loop.MessagePort<Int> { _ in log.add(number) } }
        let portSources = try (4..<8).map { number in try Loop.PortSource { _ in log.add(number) } }
        try perform { loop in
            let mode: Loop.Mode = "test.ports"
            for port in messagePorts + portSources as [Loop.Item] { loop.add(port, in: mode) }
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
                while loop.run(mode: mode, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
                #expect(log.entries.suffix(8) == order[...])
            }
        }
    }

    @Test("A message does not overtake ports that the kernel has not yet reported")
    func unfetchedPorts() throws {
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

    @Test("A sleeping loop keeps the order of messages and posts", arguments: [false, true])
    func messagesAndPosts(sendsFirst: Bool) throws {
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

    /// A descriptor has no sequence number, and stays behind the ports that the kernel reported before it.
    @Test("A descriptor keeps its place among ports")
    func descriptorAmongPorts() throws {
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

    /// It was fetched for its first send, which another mode has served, and gets the place of its second one.
    @Test("A port that was served elsewhere and sent to again is handled after ports sent to before")
    func servedElsewhere() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let other = try Loop.PortSource { _ in log.add("other") }
        let twice = try Loop.PortSource { _ in log.add("twice, in \(loop.currentMode!)") }
        let first = try Loop.PortSource { _ in
            loop.run(mode: .tracking, for: .zero)
            other.send()
            twice.send()
        }
        for port in [first, twice, other] { loop.add(port) }
        loop.add(twice, in: .tracking)
        first.send()
        twice.send()
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["twice, in tracking", "other", "twice, in default"])
    }

    /// More than the kernel reports at once.
    @Test("Ports ready before their mode first runs are handled in their order")
    func readyBeforeTheFirstRun() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let ports = try (0..<100).map { number in try Loop.PortSource { _ in log.add(number) } }
        for port in ports { loop.add(port) }
        for port in ports.reversed() { port.send() }
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == (0..<100).reversed())
    }
}
