import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// A pool's `map`: each element once, the results in order, and an answer whatever happens.
@Suite(.timeBound) struct PoolMapTests {
    private struct Failure: Error, Equatable { let element: Int }

    // MARK: Results

    @Test("The results have the order of the elements", arguments: [0, 1, 2, 3, 500])
    func order(_ count: Int) async throws {
        let pool = try makePool(3)
        let calls = Log<Int>()
        let squares = try await pool.map(Array(0..<count)) { number in
            calls.add(number)
            return number * number
        }
        #expect(squares == (0..<count).map { $0 * $0 })
        #expect(calls.entries.sorted() == Array(0..<count))
        try await pool.drain()
        #expect(pool.unfinished == [0, 0, 0])
    }

    @Test("Results that are nil, and a result that is nothing")
    func optionalResults() async throws {
        let pool = try makePool(2)
        #expect(try await pool.map([1, 2, 3]) { $0 == 2 ? nil : $0 } == [1, nil, 3])
        #expect(try await pool.map([1, 2]) { _ in }.count == 2)
    }

    @Test("No more elements are under way than the limit says", arguments: [-1, 0, 1, 2, 3, 100])
    func limit(_ limit: Int) async throws {
        let pool = try makePool(4)
        let (begun, running, counts) = (Count(), Count(), Log<Int>())
        let expected = max(1, min(limit, 4))
        let numbers = try await pool.map(Array(0..<40), atMost: limit) { number in
            counts.add(running.up())
            // So many are under way at the same time.
            begun.up()
            spin(until: begun.value >= expected)
            running.upBy(-1)
            return number
        }
        #expect(numbers == Array(0..<40) && counts.entries.max()! == expected)
        try await pool.drain()
    }

    /// The policy alone would pick the other worker, which has less to do, twice.
    @Test("A worker with more to do takes elements as soon as it is free")
    func busyWorker() async throws {
        let pool = try makePool(2)
        let (isStuck, gate, begun) = (Gate(), Gate(), Count())
        pool.perform(for: "key") {
            isStuck.open()
            gate.wait()
        }
        pool.perform(for: "key") {}
        isStuck.wait()
        let mapping = Task.immediate {
            try await pool.map([0, 1]) { _ in
                begun.up()
                spin(until: begun.value == 2)
            }
        }
        gate.open()
        #expect(try await mapping.value.count == 2)
    }

    @Test("All workers take elements at the same time")
    func allWorkers() async throws {
        let pool = try makePool(3)
        let begun = Count()
        let names = try await pool.map([0, 1, 2]) { _ in
            begun.up()
            spin(until: begun.value == 3)
            return Kernel.threadName
        }
        #expect(Set(names).count == 3)
    }

    @Test("A worker's loop comes around between two elements")
    func otherWork() async throws {
        let pool = try makePool(1)
        let order = Log<String>()
        _ = try await pool.map([1, 2]) { number in
            order.add("\(number)")
            Loop.current.perform { order.add("a block after \(number)") }
        }
        try await pool.drain()
        #expect(order.entries.prefix(3) == ["1", "a block after 1", "2"])
    }

    @Test("A worker that is stuck in other work delays no element")
    func stuckWorker() async throws {
        let pool = try makePool(2, .roundRobin)
        let blocker = Blocker()
        pool.perform { blocker.block() }
        let stuck = blocker.awaitStart()
        let names = try await pool.map(Array(0..<50)) { _ in Kernel.threadName }
        #expect(names.count == 50 && !names.contains(stuck))
        blocker.release()
        try await pool.drain()
    }

    @Test("A pool lives as long as its map")
    func lastReference() async throws {
        let lengths = try await makePool(2).map(["a", "bc", "def"]) { $0.utf8.count }
        #expect(lengths == [1, 2, 3])
    }

    // MARK: Errors

    @Test("After an error no element begins")
    func error() async throws {
        let pool = try makePool(1)
        let calls = Log<Int>()
        await #expect(throws: Failure(element: 3)) {
            try await pool.map(Array(0..<10)) { number in
                calls.add(number)
                if number == 3 { throw Failure(element: 3) }
            }
        }
        #expect(calls.entries == [0, 1, 2, 3])
        try await pool.drain()
        #expect(pool.unfinished == [0])
    }

    @Test("An error is thrown when the elements that have begun are finished")
    func errorBesideOthers() async throws {
        let pool = try makePool(2)
        let (blocker, hasReturned, thrown) = (Blocker(), Count(), Count())
        let mapping = Task {
            try await pool.map([0, 1]) { number in
                if number == 0 {
                    _ = blocker.awaitStart()
                    thrown.up()
                    throw Failure(element: 0)
                }
                blocker.block()
                hasReturned.up()
            }
        }
        spin(until: thrown.value == 1 && pool.unfinished.contains(0))
        #expect(hasReturned.value == 0)
        blocker.release()
        await #expect(throws: Failure(element: 0)) { try await mapping.value }
        #expect(hasReturned.value == 1)
    }

    @Test("A cancelled task waits for the elements that have begun, and no other begins")
    func cancelled() async throws {
        let pool = try makePool(1)
        let (blocker, calls) = (Blocker(), Log<Int>())
        // A cancellation that comes before the task waits is noticed only when it does.
        let mapping = Task.immediate {
            try await pool.map(Array(0..<5)) { number in
                calls.add(number)
                blocker.block()
            }
        }
        _ = blocker.awaitStart()
        mapping.cancel()
        blocker.release()
        await #expect(throws: CancellationError.self) { try await mapping.value }
        #expect(calls.entries == [0])
    }

    @Test("A task that is cancelled before calls nothing")
    func cancelledBefore() async throws {
        let pool = try makePool(1)
        let calls = Count()
        let mapping = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await pool.map([1, 2]) { _ in calls.up() }.count
        }
        await #expect(throws: CancellationError.self) { try await mapping.value }
        #expect(calls.value == 0)
    }

    // MARK: The end of the pool

    @Test("A stop in an element", arguments: [false, true])
    func stopped(_ discards: Bool) async throws {
        let pool = try LoopThreadPool(count: 1, options: .init(name: "crew"))
        let calls = Log<Int>()
        await #expect(throws: LoopThread.Stopped(thread: "crew")) {
            try await pool.map([0, 1, 2, 3]) { number in
                calls.add(number)
                if number == 2 { pool.stop(discardingPending: discards) }
            }
        }
        #expect(calls.entries == [0, 1, 2])
        #expect(try await pool.map([Int]()) { $0 } == [])
        await #expect(throws: LoopThread.Stopped(thread: "crew")) { try await pool.map([1]) { $0 } }
    }

    @Test("A stop in the last element")
    func stoppedAtTheEnd() async throws {
        let pool = try makePool(2)
        let numbers = try await pool.map([0, 1, 2]) { number in
            if number == 2 { pool.stop() }
            return number
        }
        #expect(numbers == [0, 1, 2])
    }

    /// The elements, the results and the function are released whatever the end is.
    @Test("Every call is answered, and nothing is kept", arguments: 0..<20 as Range<UInt64>)
    func everyCallIsAnswered(_ seed: UInt64) async throws {
        final class Thing: Sendable {
            let (number, alive): (Int, Count)
            init(_ number: Int, _ alive: Count) {
                (self.number, self.alive) = (number, alive)
                alive.up()
            }
            deinit { alive.upBy(-1) }
        }
        var random = SplitMix(seed)
        let alive = Count()
        let (workers, count) = (1 + random.below(3), random.below(40))
        let (stops, fails, cancels) = (random.below(80), random.below(80), random.once(in: 3))
        let pool = try makePool(workers)
        do {
            let mapping = Task {
                let things = (0..<count).map { Thing($0, alive) }
                return try await pool.map(things) { thing in
                    if thing.number == stops { pool.stop() }
                    if thing.number == fails { throw Failure(element: fails) }
                    return Thing(thing.number, alive)
                }.map(\.number)
            }
            if cancels { mapping.cancel() }
            #expect(try await mapping.value == Array(0..<count))
        } catch {
            #expect(
                (error is CancellationError && cancels) || (error is LoopThread.Stopped && stops < count)
                    || error as? Failure == Failure(element: fails))
        }
        pool.stop()
        pool.joinBlocking()
        #expect(pool.unfinished.allSatisfy { $0 == 0 })
        #expect(alive.value == 0)
    }

    @Test("A call that has ended keeps no element, even if a stuck worker has not come to it")
    func release() async throws {
        let pool = try makePool(1)
        let (isStuck, gate, released) = (Gate(), Gate(), Count())
        pool.perform {
            isStuck.open()
            gate.wait()
        }
        isStuck.wait()
        let task = Task {
            _ = try await pool.map([Token(released), Token(released)]) { withExtendedLifetime($0) {} }
        }
        await eventually(pool.unfinished == [2])
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await eventually(released.value == 2)
        gate.open()
        try await pool.drain()
        _ = try await pool.map([Token(released), Token(released)]) { withExtendedLifetime($0) {} }
        #expect(released.value == 4)
    }

    private final class Token: Sendable {
        let released: Count
        init(_ released: Count) { self.released = released }
        deinit { released.up() }
    }
}
