import TestSupport
import Testing
import WeakMemory

/// The explorer against litmus tests whose outcomes the C++ standard decides.
@Suite(.timeBound) struct LitmusTests {
    /// Explores threads that share `x` and `y`, and returns what they can return.
    private func results(
        hasFences: Bool = false, _ bodies: (Location, Location) -> [ModelThread.Body]
    ) -> Set<[Int]> {
        var program = Program()
        program.hasFences = hasFences
        let (x, y) = (program.atomic(), program.atomic())
        for body in bodies(x, y) { program.reports(body) }
        let findings = program.explore()
        #expect(findings.fault == nil)
        return findings.results
    }

    /// The orders for stores and loads: the strongest, and the next.
    private static let pairs: [(store: Order, load: Order)] = [
        (.sequentiallyConsistent, .sequentiallyConsistent), (.releasing, .acquiring), (.relaxed, .relaxed),
        (.sequentiallyConsistent, .acquiring), (.releasing, .sequentiallyConsistent),
    ]

    @Test("Store buffering: each may miss the other's store, unless all is sequentially consistent", arguments: pairs)
    private func storeBuffering(_ store: Order, _ load: Order) {
        let found = results { x, y in
            [
                {
                    $0.store(x, 1, store)
                    return [$0.load(y, load)]
                },
                {
                    $0.store(y, 1, store)
                    return [$0.load(x, load)]
                },
            ]
        }
        #expect(found.contains([0, 0]) == (store != .sequentiallyConsistent || load != .sequentiallyConsistent))
        #expect(found.isSuperset(of: [[0, 1], [1, 0], [1, 1]]))
    }

    @Test("Store buffering: sequentially consistent fences exclude it, others do not", arguments: Order.allCases)
    func storeBufferingWithFences(_ order: Order) {
        let found = results(hasFences: true) { x, y in
            [
                {
                    $0.store(x, 1, .relaxed)
                    $0.fence(order)
                    return [$0.load(y, .relaxed)]
                },
                {
                    $0.store(y, 1, .relaxed)
                    $0.fence(order)
                    return [$0.load(x, .relaxed)]
                },
            ]
        }
        #expect(found.contains([0, 0]) == (order != .sequentiallyConsistent))
    }

    @Test("Store buffering: read-modify-writes are not enough without that order", arguments: Order.allCases)
    func storeBufferingWithExchanges(_ order: Order) {
        let found = results { x, y in
            [
                {
                    $0.exchange(x, 1, order)
                    return [$0.load(y, .sequentiallyConsistent)]
                },
                {
                    $0.exchange(y, 1, order)
                    return [$0.load(x, .sequentiallyConsistent)]
                },
            ]
        }
        #expect(found.contains([0, 0]) == (order != .sequentiallyConsistent))
    }

    @Test("A message is passed by release and acquire together", arguments: pairs)
    private func messagePassing(_ store: Order, _ load: Order) {
        for (first, second) in [(store, load), (store, .relaxed), (.relaxed, load)] {
            let found = results { x, y in
                [
                    {
                        $0.store(x, 1, .relaxed)
                        $0.store(y, 1, first)
                        return []
                    },
                    { [$0.load(y, second), $0.load(x, .relaxed)] },
                ]
            }
            #expect(found.contains([1, 0]) == (first == .relaxed || second == .relaxed))
            #expect(found.isSuperset(of: [[0, 0], [0, 1], [1, 1]]))
        }
    }

    @Test("A message is passed by fences", arguments: [true, false], [true, false])
    func messagePassingByFences(_ releases: Bool, _ acquires: Bool) {
        let found = results(hasFences: true) { x, y in
            [
                {
                    $0.store(x, 1, .relaxed)
                    if releases { $0.fence(.releasing) }
                    $0.store(y, 1, .relaxed)
                    return []
                },
                {
                    let flag = $0.load(y, .relaxed)
                    if acquires { $0.fence(.acquiring) }
                    return [flag, $0.load(x, .relaxed)]
                },
            ]
        }
        #expect(found.contains([1, 0]) == !(releases && acquires))
    }

    @Test("Two readers see two stores in different orders, unless all is sequentially consistent", arguments: pairs)
    private func independentReads(_ store: Order, _ load: Order) {
        let found = results { x, y in
            [
                {
                    $0.store(x, 1, store)
                    return []
                },
                {
                    $0.store(y, 1, store)
                    return []
                },
                { [$0.load(x, load), $0.load(y, load)] },
                { [$0.load(y, load), $0.load(x, load)] },
            ]
        }
        #expect(
            found.contains([1, 0, 1, 0]) == (store != .sequentiallyConsistent || load != .sequentiallyConsistent))
    }

    @Test("Each of two locations may keep the earlier store of a thread, if they are relaxed", arguments: pairs)
    private func twoStoresToEach(_ store: Order, _: Order) {
        var program = Program()
        let (x, y) = (program.atomic(), program.atomic())
        program.thread {
            $0.store(x, 1, store)
            $0.store(y, 2, store)
        }
        program.thread {
            $0.store(y, 1, store)
            $0.store(x, 2, store)
        }
        program.atEnd { _, last in !(last(x) == 1 && last(y) == 1) }
        #expect((program.explore().fault != nil) == (store != .sequentiallyConsistent))
    }

    @Test("A thread never reads an older value of a location after a newer one")
    func coherence() {
        let found = results { x, _ in
            [
                {
                    $0.store(x, 1, .relaxed)
                    return []
                },
                {
                    $0.store(x, 2, .relaxed)
                    return []
                },
                { [$0.load(x, .relaxed), $0.load(x, .relaxed)] },
                { [$0.load(x, .relaxed), $0.load(x, .relaxed)] },
            ]
        }
        #expect(!found.contains { $0[1] == 0 && $0[0] != 0 })
        #expect(!found.contains([1, 2, 2, 1]))
        #expect(found.isSuperset(of: [[1, 2, 1, 2], [2, 1, 2, 1], [0, 1, 0, 2]]))
    }

    /// C++ and aarch64 permit it, if the store does not depend on the load.
    @Test("Load buffering is not explored")
    func loadBuffering() {
        let found = results { x, y in
            [
                {
                    let value = $0.load(x, .relaxed)
                    $0.store(y, 1, .relaxed)
                    return [value]
                },
                {
                    let value = $0.load(y, .relaxed)
                    $0.store(x, 1, .relaxed)
                    return [value]
                },
            ]
        }
        #expect(found == [[0, 0], [0, 1], [1, 0]])
    }

    @Test("A read-modify-write continues a release, a store ends it", arguments: [true, false])
    func releaseSequence(_ isModification: Bool) {
        let found = results { x, y in
            [
                {
                    $0.store(x, 1, .relaxed)
                    $0.store(y, 1, .releasing)
                    return []
                },
                {
                    guard $0.load(y, .relaxed) == 1 else { return [] }
                    if isModification { $0.add(y, 1, .relaxed) } else { $0.store(y, 2, .relaxed) }
                    return []
                },
                { [$0.load(y, .acquiring), $0.load(x, .relaxed)] },
            ]
        }
        #expect(found.contains([2, 0]) == !isModification)
    }

    @Test("Read-modify-writes of one location have one order")
    func atomicity() {
        let found = results { x, _ in
            (0..<3).map { _ in { [$0.add(x, 1, .relaxed)] } }
        }
        #expect(found.count == 6 && found.allSatisfy { $0.sorted() == [0, 1, 2] })
    }

    @Test("Of two equal exchanges one succeeds, and a failed one may read an old value")
    func compareExchange() {
        let found = results { x, _ in
            (1...2).map { value in
                {
                    let change = $0.compareExchange(x, 0, value, .relaxed)
                    return [change.exchanged ? 1 : 0, change.original]
                }
            }
        }
        #expect(found == [[1, 0, 0, 1], [0, 2, 1, 0]])
    }

    @Test("A data race is found, and none where there is none", arguments: pairs, [true, false])
    private func dataRace(_ pair: (store: Order, load: Order), _ readsFirst: Bool) {
        var program = Program()
        let flag = program.atomic()
        let data = program.plain("data")
        program.thread {
            if readsFirst { $0.read(data) } else { $0.write(data) }
            $0.store(flag, 1, pair.store)
        }
        program.thread { if $0.load(flag, pair.load) == 1 { $0.write(data) } }
        #expect((program.explore().fault == "data race: data") == (pair.store == .relaxed || pair.load == .relaxed))
    }

    /// Dekker's, Peterson's and others' algorithms rest on it.
    @Test("Flags exclude two threads, if all is sequentially consistent", arguments: pairs)
    private func mutualExclusion(_ store: Order, _ load: Order) {
        var program = Program()
        let (x, y) = (program.atomic(), program.atomic())
        let data = program.plain("data")
        for (own, other) in [(x, y), (y, x)] {
            program.thread {
                $0.store(own, 1, store)
                if $0.load(other, load) == 0 { $0.write(data) }
            }
        }
        #expect(
            (program.explore().fault != nil) == (store != .sequentiallyConsistent || load != .sequentiallyConsistent))
    }

    @Test("A thread that sleeps is woken, or found to sleep for ever", arguments: [true, false])
    func futex(_ wakes: Bool) {
        var program = Program()
        let word = program.atomic()
        program.thread { thread in
            thread.repeating { _ in
                if thread.load(word, .relaxed) == 1 { return .end(0) }
                thread.sleep(word, while: 0)
                return .again(0)
            }
        }
        program.thread {
            $0.store(word, 1, .relaxed)
            if wakes { $0.wakeAll(word) }
        }
        #expect(program.explore().fault == (wakes ? nil : "a thread waits for ever"))
    }
}
