import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Threads that would wait for each other for ever get an error or a trap that names them.
@Suite(.timeBound) struct WaitRingTests {
    @Test("Two threads that wait for each other: the second call throws, and the first gets its answer")
    func ringOfTwo() throws {
        let a = try LoopThread(name: "a")
        let b = try LoopThread(name: "b")
        let inner = Log<LoopThread.WaitRing?>()
        let answer = try a.performAndWait {
            try b.performAndWait {
                do { try a.performAndWait {} } catch { inner.add(error as? LoopThread.WaitRing) }
                return 1
            }
        }
        #expect(answer == 1)
        #expect(inner.entries == [LoopThread.WaitRing(threads: ["a", "b"])])
    }

    @Test("A ring of many threads is named in order, and says the way out")
    func ringOfMany() throws {
        let threads = try (0..<5).map { try LoopThread(name: "t\($0)") }
        @Sendable func visit(_ index: Int) throws -> String {
            try threads[index % 5].performAndWait { try visit(index + 1) }
        }
        #expect(throws: LoopThread.WaitRing(threads: ["t0", "t1", "t2", "t3", "t4"])) { try visit(0) }
        #expect(
            "\(LoopThread.WaitRing(threads: ["a", "b"]))"
                == "the threads \"b\" → \"a\" → \"b\" would wait for each other for ever: let one of them hand its "
                + "work over with perform(in:_:), or await run(in:_:), instead")
    }

    @Test("Of two threads that call each other at the same moment at most one fails, and none hangs")
    func ringAtOneMoment() throws {
        let a = try LoopThread(name: "a")
        let b = try LoopThread(name: "b")
        for _ in 0..<500 {
            let results = Log<Bool>()
            for (own, other) in [(a, b), (b, a)] {
                own.perform { results.add((try? other.performAndWait { true }) ?? false) }
            }
            // Not performAndWait: a block of its own comes after the calls.
            let (first, second) = (Gate(), Gate())
            a.perform { first.open() }
            b.perform { second.open() }
            first.wait()
            second.wait()
            #expect(results.entries.count == 2)
            #expect(results.entries.contains(true))
        }
    }

    @Test("Threads that wait for others without a ring are not refused")
    func noRing() throws {
        let a = try LoopThread(name: "a")
        let b = try LoopThread(name: "b")
        let c = try LoopThread(name: "c")
        // A diamond, and the same thread several times in a row.
        for _ in 0..<100 {
            #expect(try a.performAndWait { try b.performAndWait { try c.performAndWait { 1 } } } == 1)
            #expect(try a.performAndWait { try c.performAndWait { 2 } } == 2)
            #expect(try b.performAndWait { try c.performAndWait { 3 } } == 3)
        }
    }

    @Test("A drain with a limit ends a ring by itself, and does not trap")
    func ringThroughALimitedDrain() throws {
        let pool = try LoopThreadPool(count: 1)
        let caller = try LoopThread(name: "caller")
        let isFinished = try caller.performAndWait {
            pool.perform { try? caller.performAndWait {} }
            spin(until: WaitRings.shared.isWaiting(pool.loops[0].owner))
            return pool.drainAndWait(for: .milliseconds(1))
        }
        #expect(!isFinished)
        pool.drainAndWait()
        caller.stop()
        caller.join()
        pool.stop()
        pool.join()
    }

    @Test("A caller that any of two threads can answer closes a ring only if both wait for it")
    func ringThroughAnyOfTwo() throws {
        let caller = try LoopThread(name: "caller")
        let others = try ["a", "b"].map { try LoopThread(name: $0) }
        let rings = try caller.performAndWait {
            var rings: [[String]?] = []
            for other in others {
                other.perform { try? caller.performAndWait {} }
                spin(until: WaitRings.shared.isWaiting(other.loop.owner))
                do {
                    try WaitRings.shared.waiting(
                        for: .threads { ([], others.map(\.waitTarget)) }, hasLimit: false, {})
                    rings.append(nil)
                } catch { rings.append((error as? LoopThread.WaitRing)?.threads) }
            }
            return rings
        }
        #expect(rings == [nil, ["a", "caller"]])
    }

    /// The two need not be work of the pool: they only keep its workers from coming.
    @Test(
        "A caller that any of two threads can answer, and both of them: whoever waits last gets the error",
        arguments: 0..<3)
    func ringThroughAnyOfTwo(last: Int) throws {
        let drainer = try LoopThread(name: "drainer")
        let others = try ["a", "b"].map { try LoopThread(name: $0) }
        let all = [drainer] + others
        let errors = Log<[String]>()
        let mayEnd = Gate()
        let wait: @Sendable (Int) -> Void = { number in
            let awaited: WaitRings.Awaited =
                number == 0 ? .threads { ([], others.map(\.waitTarget)) } : .thread(drainer.waitTarget)
            do {
                try WaitRings.shared.waiting(for: awaited, hasLimit: false) { mayEnd.wait() }
            } catch { errors.add((error as! LoopThread.WaitRing).threads) }
        }
        for number in (0..<3).filter({ $0 != last }) {
            all[number].perform { wait(number) }
            spin(until: WaitRings.shared.isWaiting(all[number].loop.owner))
        }
        // It would wait for ever if it found no ring.
        let isOver = Gate()
        all[last].perform {
            wait(last)
            isOver.open()
        }
        spin(until: isOver.isOpenNow || WaitRings.shared.isWaiting(all[last].loop.owner))
        #expect(errors.entries == [[["a", "drainer"], ["drainer", "a"], ["drainer", "b"]][last]])
        mayEnd.open()
        for thread in all { thread.stop() }
        for thread in all { thread.join() }
    }

    @Test("A worker that a waiting piece needs, and that waits for a thread that drains the pool, gets the error")
    func ringThroughAQueue() throws {
        let pool = try LoopThreadPool(count: 2)
        let caller = try LoopThread(name: "caller")
        let errors = Log<String>()
        try caller.performAndWait {
            // Not work of the pool, which calls this worker, the first.
            let hasBegun = Gate()
            pool.loops[0].perform {
                hasBegun.open()
                spin(until: WaitRings.shared.isWaiting(caller.loop.owner))
                do { try caller.performAndWait {} } catch { errors.add("\(type(of: error))") }
            }
            hasBegun.wait()
            pool.perform {}
            pool.drainAndWait()
        }
        #expect(errors.entries == ["WaitRing"])
        pool.stop()
        pool.join()
    }

    @Test("A worker of a pool that waits for a thread that drains the pool gets the error, and the drain ends")
    func ringThroughADrain() throws {
        let pool = try LoopThreadPool(count: 2)
        let caller = try LoopThread(name: "caller")
        let errors = Log<String>()
        try caller.performAndWait {
            pool.perform {
                spin(until: WaitRings.shared.isWaiting(caller.loop.owner))
                do { try caller.performAndWait {} } catch { errors.add("\(type(of: error))") }
            }
            pool.drainAndWait()
        }
        #expect(errors.entries == ["WaitRing"])
        pool.stop()
        pool.join()
    }

    @Test("A ring of threads that an action of a limiter waits for is named, and the action gets its answer")
    func ringBehindAnAction() async throws {
        let a = try LoopThread(name: "a")
        let b = try LoopThread(name: "b")
        let limiter = AsyncLimiter<Int, String>.throttle(interval: .zero, on: a.loop) { _ in
            try a.performBlocking {
                try b.performAndWait {
                    do { try a.performAndWait {} } catch { return "\(error)" }
                    return "no ring"
                }
            }
        }
        let answer = try await limiter.run(1)
        #expect(answer?.hasPrefix("the threads \"b\" → \"a\" → \"b\" would wait for each other for ever") == true)
    }

    @Test("An action that waits for the thread whose wait started it closes no ring: no thread waits for an action")
    func actionThatWaitsForItsCaller() async throws {
        let a = try LoopThread(name: "a")
        let b = try LoopThread(name: "b")
        let actions = Log<ThreadID>()
        let limiter = AsyncLimiter<Int, Int>.throttle(interval: .zero, on: b.loop) { input in
            actions.add(ThreadLoops.current.id)
            return try a.performBlocking { input + 1 }
        }
        let answer = try await a.run {
            try b.performAndWait {
                let answer = limiter.call(1)
                // The action waits for a, which waits for b.
                spin(until: actions.entries.first.map { WaitRings.shared.isWaiting($0) } ?? false)
                return answer
            }
        }
        #expect(try await answer.value == 2)
    }

    @Test("Two limiters whose actions wait for each other through threads do not hang: one wait is answered nil")
    func ringOfLimitersOnThreads() async throws {
        let a = try LoopThread(name: "a")
        let b = try LoopThread(name: "b")
        let second = Log<AsyncLimiter<Int, Int>>()
        let first = AsyncLimiter<Int, Int>.throttle(interval: .zero, on: a.loop) { input in
            try await second.entries[0].run(input + 1) ?? 100
        }
        second.add(
            AsyncLimiter<Int, Int>.throttle(interval: .zero, on: b.loop) { [weak first] input in
                try await first?.run(input + 1) ?? input
            })
        // The second action's wait would close the ring.
        let answer = try await first.run(1)
        #expect(answer == 2)
    }

    @Test("A join waits for a thread whose wait for the caller has a time limit")
    func ringThatEnds() throws {
        let joiner = try LoopThread(name: "joiner")
        let watchdog = try LoopThread(name: "watchdog")
        let errors = Log<Loop.NoAnswer?>()
        let isJoined = try joiner.performAndWait {
            watchdog.perform {
                // The joiner is busy until the watchdog has given up.
                do {
                    try joiner.loop.performAndWait(for: .milliseconds(20)) {}
                } catch {
                    errors.add(error as? Loop.NoAnswer)
                }
            }
            spin(until: WaitRings.shared.isWaiting(watchdog.loop.owner) || !errors.entries.isEmpty)
            watchdog.stop()
            watchdog.join()
            return true
        }
        #expect(isJoined)
        #expect(errors.entries == [.timeIsUp(thread: "joiner", hasBegun: false)])
    }

    /// The search for a ring of the caller's meets the other threads' one, and ends.
    @Test("A third thread may wait for threads that are in a ring with a time limit")
    func strangersOfARing() throws {
        let a = try LoopThread(name: "a")
        let b = try LoopThread(name: "b")
        let mayJoin = Gate()
        b.perform {
            mayJoin.wait()
            a.join()
        }
        a.perform { try? b.loop.performAndWait(for: .milliseconds(200)) {} }
        spin(until: WaitRings.shared.isWaiting(a.loop.owner))
        mayJoin.open()
        spin(until: WaitRings.shared.isWaiting(b.loop.owner))
        // Served once a has given up.
        #expect(try a.loop.performAndWait { true })
        a.stop()
        b.stop()
        b.join()
    }

    @Test("A call that throws names a ring at once, also if it has a time limit")
    func ringsWithLimits() throws {
        let a = try LoopThread(name: "a")
        let b = try LoopThread(name: "b")
        let limit = Duration.seconds(1000)
        for (first, second) in [(limit, nil), (nil, limit), (limit, limit)] as [(Duration?, Duration?)] {
            let inner = Log<LoopThread.WaitRing?>()
            try a.performAndWait {
                try b.loop.performAndWait(for: first) {
                    do {
                        try a.loop.performAndWait(for: second) {}
                    } catch {
                        inner.add(error as? LoopThread.WaitRing)
                    }
                }
            }
            #expect(inner.entries == [LoopThread.WaitRing(threads: ["a", "b"])])
        }
    }
}
