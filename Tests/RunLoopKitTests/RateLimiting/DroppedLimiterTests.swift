import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Calls that limiters lose in silence are reported: see `MistakeTests`.
@Suite(.timeBound) struct DroppedLimiterTests {
    @Test("A limiter that is dropped with its first call is reported")
    func droppedLimiters() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            do {
                Debounce<Int>(interval: .seconds(1000), on: thread.loop, label: "single") { _ in }(1)
                Throttle<Int>(interval: .seconds(1000), edges: .trailing, on: thread.loop, label: "last") { _ in }(1)
                let keyed = KeyedDebounce<Int, Void>(
                    interval: .seconds(1000), on: thread.loop, label: "keyed"
                ) { _, _ in }
                keyed(for: 1)
                AsyncLimiter.debounce(interval: .seconds(1000), on: thread.loop, label: "async") { (_: Int) in }(1)
            }
            let names = ["debounce \"single\"", "throttle \"last\"", "debounce \"keyed\"", "debounce \"async\""]
            let areReported = names.allSatisfy { mistakes.entries.contains(.droppedLimiter(limiter: $0)) }
            _exit(areReported && mistakes.entries.count == names.count ? 0 : 1)
        }
    }

    @Test("An object whose init throws loses no call of its limiter unnoticed")
    func limitersOfThrowingInits() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let acted = Log<Int>()
            let thread = try LoopThread()
            let loop = thread.loop
            func make(_ interval: Duration, _ release: RateLimitRelease, _ label: String) -> Debounce<Int> {
                Debounce(interval: interval, on: loop, whenReleased: release, label: label) { acted.add($0) }
            }
            func makeWithoutHandler(_ release: RateLimitRelease, _ label: String) -> Debounce<Int> {
                Debounce(interval: .seconds(1000), on: loop, whenReleased: release, label: label)
            }
            func fails(_ limiter: Debounce<Int>, _ input: Int) { _ = try? ThrowingOwner(limiter, input) }
            fails(make(.seconds(1000), .flush, "flushes"), 1)
            precondition(mistakes.entries.isEmpty)
            fails(make(.seconds(1000), .discard, "a"), 2)
            fails(makeWithoutHandler(.discard, "b"), 3)
            fails(makeWithoutHandler(.flush, "c"), 4)
            let queue = PacedQueue<Int>(1, per: .seconds(1), capacity: 1, on: loop, whenReleased: .flush, label: "d")
            precondition(queue(5) == .accepted)
            _ = consume queue
            let names = mistakes.entries.map { if case .droppedLimiter(let name) = $0 { name } else { "another" } }
            let expected = ["debounce \"a\"", "debounce \"b\"", "debounce \"c\"", "paced queue \"d\""]
            precondition(names == expected, "\(names)")
            // What is cancelled or invalidated is not lost.
            let (cancelled, invalid) = (makeWithoutHandler(.flush, "e"), makeWithoutHandler(.flush, "f"))
            cancelled(6)
            invalid(7)
            cancelled.cancel()
            invalid.invalidate()
            _ = (consume cancelled, consume invalid)
            precondition(mistakes.entries.count == 4)
            thread.stop()
            thread.joinBlocking()
            _exit(acted.entries == [1] ? 0 : 1)
        }
    }

    @Test("A call that was due and waits for a handler is reported when its limiter is dropped")
    func limitersThatWaitedForHandlers() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            for release in [RateLimitRelease.discard, .flush] {
                let throttle = Throttle<Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, whenReleased: release, label: "a")
                throttle(1)
                precondition(throttle.isPending)
                let debounce = Debounce<Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "b")
                debounce(2)
                debounce.flush()
                let keyed = KeyedThrottle<Int, Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, whenReleased: release, label: "c")
                keyed(3, for: 1)
                let flushed = KeyedDebounce<Int, Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "d")
                flushed(4, for: 1)
                flushed(4, for: 2)
                flushed.flushAll()
                // What is cancelled is not lost.
                let cancelled = KeyedThrottle<Int, Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, whenReleased: release, label: "e")
                cancelled(5, for: 1)
                cancelled.cancelAll()
                _ = (consume throttle, consume debounce, consume keyed, consume flushed, consume cancelled)
            }
            let names = ["throttle \"a\"", "debounce \"b\"", "throttle \"c\"", "debounce \"d\""]
            let reported = mistakes.entries.map { if case .droppedLimiter(let name) = $0 { name } else { "another" } }
            _exit(reported == names + names ? 0 : 1)
        }
    }

    /// `Mistakes` checks the locks before it calls a handler.
    @Test("Limiters report a main loop that is gone, with no lock held")
    func limitersOfAMainLoopThatIsGone() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            let limiter = Box<Debounce<Int>>()
            Loop.mistakeHandling = .call {
                _ = limiter.value?.isPending
                mistakes.add($0)
            }
            let (throttle, debounce) = (Box<Throttle<Int>>(), Box<Debounce<Int>>())
            // Otherwise the main queue ends the loop first.
            let never = Gate()
            DispatchQueue.main.async { never.wait() }
            // Called before the limiters hear of the end.
            Loop.main.onEnd {
                precondition(throttle.value!(1) == false && debounce.value!(2))
            }
            throttle.value = Throttle(interval: .seconds(1), on: .main) { _ in }
            debounce.value = Debounce(interval: .seconds(1), on: .main) { _ in }
            Loop.main.end(tellingSources: true)
            precondition(mistakes.entries == [.mainLoopWithoutThread], "\(mistakes.entries)")
            limiter.value = Debounce<Int>(interval: .seconds(1), on: .main) { _ in }
            let keyed = KeyedThrottle<Int, Int>(interval: .seconds(1), on: .main) { _, _ in }
            let queue = PacedQueue<Int>(1, per: .seconds(1), capacity: 1, on: .main) { _ in }
            precondition(!limiter.value!(1) && !keyed(1, for: 1) && queue(1) == .closed)
            _exit(mistakes.entries == Array(repeating: .mainLoopWithoutThread, count: 4) ? 0 : 1)
        }
    }

    @Test("What was due before a limiter in no mode had a handler is lost, and reported")
    func handlersOfLimitersInNoMode() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call {
                Lock.assertNoneHeld()
                mistakes.add($0)
            }
            let thread = try LoopThread()
            for release in [RateLimitRelease.discard, .flush] {
                let single = Throttle<Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, in: [], whenReleased: release,
                    label: "a")
                single(1)
                single.setHandler { _ in }
                let keyed = KeyedThrottle<Int, Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, in: [], whenReleased: release,
                    label: "b")
                for key in 1...2 { keyed(1, for: key) }
                keyed.setHandler { _, _ in }
            }
            let names = ["throttle \"a\"", "throttle \"b\""]
            let reported = mistakes.entries.map { if case .droppedLimiter(let name) = $0 { name } else { "another" } }
            _exit(reported == names + names ? 0 : 1)
        }
    }

    /// Its `deinit` does not run, since `name` is not set.
    private final class ThrowingOwner {
        let limiter: Debounce<Int>
        let name: String

        init(_ limiter: Debounce<Int>, _ input: Int) throws {
            self.limiter = limiter
            limiter(input)
            name = try ThrowingOwner.fail()
        }

        deinit { limiter.flush() }

        private static func fail() throws -> String { throw CancellationError() }
    }

    @Test("A call after the end of the loop is reported for a limiter that is to lose none")
    func refusedCalls() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            let make = { (release: RateLimitRelease, label: String) in
                Debounce<Int>(interval: .seconds(1000), on: thread.loop, whenReleased: release, label: label) { _ in }
            }
            let (flushes, discards, invalid) = (make(.flush, "a"), make(.discard, "b"), make(.flush, "c"))
            let keyed = KeyedDebounce<Int, Int>(
                interval: .seconds(1000), on: thread.loop, whenReleased: .flush, label: "d"
            ) { _, _ in }
            invalid.invalidate()
            // Too late: the limiters have flushed, since they were made before.
            let areRefused = Log<Bool>()
            thread.loop.onEnd { for call in [{ flushes(1) }, { keyed(1, for: 1) }] { areRefused.add(!call()) } }
            thread.stop()
            thread.joinBlocking()
            for limiter in [flushes, discards, invalid] { precondition(!limiter(2)) }
            let late = make(.flush, "e")
            precondition(!late(3))
            let names = mistakes.entries.compactMap { if case .refusedCall(let name) = $0 { name } else { nil } }
            precondition(names.count == mistakes.entries.count && areRefused.entries.count == 2)
            _exit(Set(names) == ["debounce \"a\"", "debounce \"d\"", "debounce \"e\""] ? 0 : 1)
        }
    }

    /// The order of stored properties decides which of the two a class deallocates first.
    @Test("A limiter and its thread that are dropped together report the same in either order")
    func droppedTogether() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            do { try ThreadFirst(.discard) {}(1) }
            let reported = mistakes.entries
            precondition(reported == [.droppedLimiter(limiter: "debounce \"save\"")])
            do { try LimiterFirst(.discard) {}(1) }
            precondition(mistakes.entries == reported + reported)
            let hasActed = [Gate(), Gate()]
            do { try ThreadFirst(.flush) { hasActed[0].open() }(1) }
            do { try LimiterFirst(.flush) { hasActed[1].open() }(1) }
            for gate in hasActed { gate.wait() }
            _exit(mistakes.entries.count == 2 ? 0 : 1)
        }
    }

    private final class ThreadFirst {
        private let thread: LoopThread
        private let save: Debounce<Int>

        init(_ release: RateLimitRelease, _ action: @escaping @Sendable () -> Void) throws {
            thread = try LoopThread()
            save = makeDebounce(on: thread, release, action)
        }

        func callAsFunction(_ input: Int) { save(input) }
    }

    private final class LimiterFirst {
        private let save: Debounce<Int>
        private let thread: LoopThread

        init(_ release: RateLimitRelease, _ action: @escaping @Sendable () -> Void) throws {
            thread = try LoopThread()
            save = makeDebounce(on: thread, release, action)
        }

        func callAsFunction(_ input: Int) { save(input) }
    }

    private static func makeDebounce(
        on thread: LoopThread, _ release: RateLimitRelease, _ action: @escaping @Sendable () -> Void
    ) -> Debounce<Int> {
        Debounce(interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "save") { _ in action() }
    }

    @Test("A thread that is dropped reports its timers apart from the calls of limiters, which others may hold")
    func droppedThreadWithLimiters() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let limiters = try { () -> [Debounce<Int>] in
                let thread = try LoopThread(name: "dropped")
                thread.perform(after: .seconds(1000)) {}?.label = "delayed"
                let limiters = ["pending", "idle", "flushes"].map { (label: String) in
                    Debounce<Int>(
                        interval: .seconds(1000), on: thread.loop,
                        whenReleased: label == "flushes" ? .flush : .discard, label: label
                    ) { _ in }
                }
                limiters[0](1)
                limiters[2](1)
                return limiters
            }()
            let expected: [Loop.Mistake] = [
                .droppedLimiter(limiter: "debounce \"pending\""),
                .droppedThread(name: "dropped", items: ["timer \"delayed\""]),
            ]
            precondition(mistakes.entries == expected)
            for limiter in limiters { limiter.invalidate() }
            _exit(mistakes.entries == expected ? 0 : 1)
        }
    }

    @Test("A limiter that flushes, has acted, has nothing pending or is on an ended or virtual loop may be dropped")
    func ordinaryLimiters() async {
        await #expect(processExitsWith: .success) {
            Loop.mistakeHandling = .trap
            let thread = try LoopThread()
            let make = { (loop: Loop, release: RateLimitRelease) in
                Debounce<Int>(interval: .seconds(1000), on: loop, whenReleased: release) { _ in }
            }
            make(thread.loop, .flush)(1)
            do { _ = make(thread.loop, .discard) }
            for end in [{ $0.cancel() }, { $0.flush() }, { $0.invalidate() }] as [(Debounce<Int>) -> Void] {
                let limiter = make(thread.loop, .discard)
                limiter(1)
                end(limiter)
            }
            do {
                let limiter = Throttle<Int>(
                    interval: .seconds(1000), edges: [.leading, .trailing], on: thread.loop
                ) { _ in }
                limiter(1)
                limiter(2)
            }
            do {
                let limiter = make(thread.loop, .discard)
                limiter(1)
                thread.stop()
                thread.joinBlocking()
            }
            make(Loop(clock: VirtualClock()), .discard)(1)
            _exit(0)
        }
    }

    @Test("A limiter that must lose no call, and has no handler as its loop ends, is reported")
    func limitersWithoutHandlersAtTheEnd() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            var limiters: [AnyObject] = []
            for release in [RateLimitRelease.flush, .discard] {
                let due = Throttle<Int>(
                    interval: .seconds(1000), edges: .leading, on: thread.loop, whenReleased: release, label: "due")
                due(1)
                let pending = Debounce<Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "pending")
                pending(1)
                let keyed = KeyedDebounce<Int, Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "keyed")
                keyed(1, for: 1)
                let queue = PacedQueue<Int>(
                    1, per: .seconds(1), capacity: 1, on: thread.loop, whenReleased: release, label: "queue")
                precondition(queue(1) == .accepted)
                let cancelled = Debounce<Int>(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "cancelled")
                cancelled(1)
                cancelled.cancel()
                limiters += [due, pending, keyed, queue, cancelled]
            }
            thread.stop()
            thread.joinBlocking()
            let names = Set(mistakes.entries.map { if case .droppedLimiter(let name) = $0 { name } else { "another" } })
            let expected: Set = [
                "throttle \"due\"", "debounce \"pending\"", "debounce \"keyed\"", "paced queue \"queue\"",
            ]
            withExtendedLifetime(limiters) {}
            precondition(names == expected && mistakes.entries.count == 4)

            // Once, if the thread is dropped.
            var dropped: LoopThread? = try LoopThread()
            let limiter = Debounce<Int>(
                interval: .seconds(1000), on: dropped!.loop, whenReleased: .flush, label: "dropped")
            limiter(1)
            dropped = nil
            spin(until: !limiter(1))
            let found = mistakes.entries.dropFirst(4).filter { if case .droppedLimiter = $0 { true } else { false } }
            _exit(found == [.droppedLimiter(limiter: "debounce \"dropped\"")] ? 0 : 1)
        }
    }

    @Test("An asynchronous limiter without an action is reported when it is dropped with a call")
    func asyncLimitersWithoutActions() async {
        await #expect(processExitsWith: .success) {
            typealias Async = AsyncLimiter<Int, Void>
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let thread = try LoopThread()
            for release in [RateLimitRelease.flush, .discard] {
                let due = Async.throttle(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "due")
                due(1)
                try await thread.run {}
                precondition(due.description.contains(": one was due, and no handler is set; "))
                let pending = Async.debounce(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "pending")
                pending(2)
                let cancelled = Async.throttle(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "cancelled")
                cancelled(3)
                try await thread.run {}
                cancelled.cancel()
                let invalid = Async.debounce(
                    interval: .seconds(1000), on: thread.loop, whenReleased: release, label: "invalid")
                invalid(4)
                invalid.invalidate()
            }
            // A thread that was stopped before discards what waits.
            let stopped = Async.throttle(interval: .seconds(1000), on: thread.loop, label: "stopped")
            stopped(5)
            try await thread.run {}
            thread.stop()
            _ = consume stopped
            thread.joinBlocking()
            let names = mistakes.entries.map { if case .droppedLimiter(let name) = $0 { name } else { "another" } }
            let expected = ["throttle \"due\"", "debounce \"pending\""]
            _exit(names.sorted() == (expected + expected).sorted() ? 0 : 1)
        }
    }
}
