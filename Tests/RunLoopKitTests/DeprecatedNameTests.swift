import LoopTestSupport
import RunLoopKit
import RunLoopRules
import TestSupport
import Testing

/// A program that uses deprecated names. Its function is deprecated, so that the compiler does not warn of them. A
/// test, which cannot be, calls it by this protocol.
private protocol OldProgram {
    static func run() throws
}

extension OldProgram {
    static var program: any OldProgram.Type { self }
}

/// Old names still compile, and do what the new ones do.
@Suite(.timeBound) struct DeprecatedNameTests {
    private enum Rules: OldProgram {
        final class Note: Sendable {}

        @available(*, deprecated)
        static func run() throws {
            let engine = ThrottleEngine()
            let saving = ThrottledMethod<Note, Int>("save", engine: engine) { _, _ in }
            let note = Note()
            let mode = ThrottleRule.Mode.last
            let rule: ThrottleRule = saving.rule(for: note, interval: .seconds(1), mode: mode)
            try rule.apply()
            #expect(throws: ThrottleRuleError.self) { try rule.apply() }
            #expect(engine.rules.first === rule)
            try rule.discard()
        }
    }

    private enum Limiters: OldProgram {
        @available(*, deprecated)
        static func run() {
            let (loop, _) = Loop.inVirtualTime()
            let calls = Log<Int>()
            let limiter: RateLimiter<Int> = Throttle(interval: .seconds(1), on: loop) { calls.add($0) }
            let keyed: KeyedRateLimiter<Int, Int> = KeyedThrottle(interval: .seconds(1), on: loop) { calls.add($1) }
            limiter(1)
            keyed(2, for: 1)
            #expect(calls.entries == [1, 2])
        }
    }

    private enum IsolatedObserver: OldProgram {
        actor Counter {
            nonisolated let loop: Loop
            nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
            var activities: [Loop.Activity] = []

            init(_ loop: Loop) { self.loop = loop }

            func note(_ activity: Loop.Activity) { activities.append(activity) }
        }

        @available(*, deprecated)
        static func run() {
            let (loop, _) = Loop.inVirtualTime()
            let counter = Counter(loop)
            loop.add(Loop.Observer(.entry, isolation: counter) { counter, activity in counter.note(activity) })
            loop.perform {}
            loop.run(for: .zero)
            #expect(counter.assumeIsolated { $0.activities } == [.entry])
        }
    }

    private enum Hosting: OldProgram {
        @available(*, deprecated)
        static func run() throws {
            let (loop, _) = Loop.inVirtualTime()
            let calls = Count()
            loop.perform { calls.up() }
            #expect(try loop.beginHosting() >= 0)
            #expect(loop.isHosted)
            #expect(loop.hostTimeout == .zero)
            #expect(loop.hostedPass() != .stopped)
            #expect(calls.value == 1)
            #expect(loop.hostedPass(for: .zero) != .stopped)
            #expect(loop.hostWillSleep())
            loop.hostDidWake()
            loop.endHosting()
            #expect(!loop.isHosted)
        }
    }

    private enum Signals: OldProgram {
        actor Counter {
            nonisolated let loop: Loop
            nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

            init(_ loop: Loop) { self.loop = loop }
        }

        @available(*, deprecated)
        static func run() throws {
            let (loop, _) = Loop.inVirtualTime()
            defer { loop.end() }
            let urgent: Int32 = 23  // SIGURG, which is ignored without a handler
            let sources = [
                try Loop.SignalSource(urgent, checkingThreads: false) { _, _ in },
                try Loop.SignalSource(urgent, checkingThreads: true, isolation: Counter(loop)) { _, _, _ in },
                try Loop.SignalSource(urgent, checkingThreads: true, isolation: MainActor.shared) { _, _ in },
            ]
            for source in sources {
                #expect(source.isValid)
                source.invalidate()
            }
        }
    }

    @Test("The old names of rules stand for the new types")
    func rules() throws { try Rules.program.run() }

    @Test("The old names of limiters stand for the new types")
    func limiters() throws { try Limiters.program.run() }

    @Test("A signal source may be told not to look at threads")
    func signals() throws { try Signals.program.run() }

    @Test("An observer's isolated handler may do without the observer")
    func observer() throws { try IsolatedObserver.program.run() }

    @Test("The old names of hosting call the new ones")
    func hosting() throws { try Hosting.program.run() }
}
