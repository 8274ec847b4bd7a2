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

/// Classes of the main actor, whose items a test adds to a loop in virtual time.
@Suite(.timeBound) struct MainActorInVirtualTimeTests {
    @MainActor @Test("A loop in virtual time calls handlers of the main actor on it")
    func items() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        var calls: [String] = []
        let source = Loop.Source0(isolation: .shared) { calls.append("source") }
        let port = try Loop.PortSource(isolation: .shared) { calls.append("port \($0)") }
        let messages = Loop.MessagePort<Int>(isolation: .shared) { calls.append("message \($0)") }
        let timer = Loop.Timer(after: .seconds(1), isolation: .shared) { _ in calls.append("timer") }
        let late = Loop.Timer(after: .seconds(2))
        let observer = Loop.Observer(.entry, isolation: .shared) { calls.append("\($1)") }
        for item in [source, port, messages, timer, late, observer] { #expect(loop.add(item)) }
        let isSet = late.setHandler(isolation: .shared) { _ in calls.append("late timer") }
        #expect(isSet)
        source.signal()
        port.send()
        messages.send(7)
        #expect(loop.perform(isolation: .shared) { calls.append("block") })
        #expect(loop.perform(after: .seconds(3), isolation: .shared) { calls.append("delayed block") } != nil)
        loop.run(mode: .default, for: .seconds(4))
        #expect(
            calls.sorted() == [
                "block", "delayed block", "entry", "late timer", "message 7", "port 1", "source", "timer",
            ])
    }

    @MainActor @Test("Limiters on a loop in virtual time act on the main actor")
    func limiters() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        var calls: [String] = []
        let save = Debounce<String>(interval: .seconds(1), on: loop)
        let visit = KeyedThrottle<String, Int>(interval: .seconds(1), on: loop)
        let queue = PacedQueue<Int>(1, per: .seconds(1), capacity: 10, on: loop)
        let areSet = [
            save.setHandler(isolation: .shared) { calls.append("saves \($0)") },
            visit.setHandler(isolation: .shared) { calls.append("visits \($0) \($1)") },
            queue.setHandler(isolation: .shared) { calls.append("sends \($0)") },
        ]
        #expect(areSet == [true, true, true])
        save("text")
        visit(1, for: "page")
        #expect(queue(2) == .accepted)
        loop.run(mode: .default, for: .seconds(5))
        #expect(calls.sorted() == ["saves text", "sends 2", "visits page 1"])
    }

    /// The timer of the period has no actor, but the connection's handler has.
    @Test("Off the main actor the end of a connection's period traps")
    func periodElsewhere() async {
        await #expect(processExitsWith: .failure) {
            let thread = try LoopThread(name: "elsewhere")
            try await thread.run {
                let loop = Loop(clock: VirtualClock())
                let ends = Ends.sockets()
                let connection = try Loop.Connection(owning: ends.reader, isolation: .shared) { _, _ in }
                ends.isReaderClosed = true
                guard loop.add(connection), connection.end(within: .seconds(1)) else { _exit(0) }
                loop.run(mode: .default, for: .seconds(5))
                _exit(0)
            }
        }
    }

    private static let kinds = 0..<4

    /// On a thread that is not the main actor's, and in no task of it.
    @Test("Off the main actor a call traps", arguments: kinds)
    func elsewhere(_ kind: Int) async {
        await #expect(processExitsWith: .failure) { [kind = kind as Int] in
            let thread = try LoopThread(name: "elsewhere")
            try await thread.run {
                let loop = Loop(clock: VirtualClock())
                let limiter = Throttle<Int>(interval: .seconds(1), on: loop)
                let isAccepted =
                    switch kind {
                    case 0: loop.add(Loop.Timer(after: .zero, isolation: .shared) { _ in })
                    case 1: loop.perform(isolation: .shared) {}
                    case 2: loop.add(Loop.Observer(isolation: .shared) { _, _ in })
                    default: limiter.setHandler(isolation: .shared) { _ in }
                    }
                guard isAccepted else { _exit(0) }
                loop.add(Loop.Timer(after: .zero) { _ in })
                limiter(1)
                loop.run(mode: .default, for: .seconds(1))
                _exit(0)
            }
        }
    }
}
