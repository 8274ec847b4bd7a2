import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Many keys at once: the loop makes passes between portions, and a cancelled key is forgotten at once.
@Suite(.timeBound) struct RateLimitingPortionTests {
    /// The number of actions before something else happened.
    private struct Turn: Hashable {
        let what: String
        let actions: Int
    }

    // MARK: Due together

    @Test("The loop makes passes between portions of keys that are due together")
    func passesBetweenDueKeys() throws {
        try onThreadOfItsOwn {
            let (loop, clock) = Loop.inVirtualTime(.manual)
            let (actions, turns) = (Count(), Log<Turn>())
            let note: @Sendable (String) -> Void = { turns.add(Turn(what: $0, actions: actions.value)) }
            let source = Loop.Source0 { note("source") }
            let port = try Loop.PortSource { _ in note("port") }
            for item in [source, port] { loop.add(item, in: .default) }
            let limiter = KeyedDebounce<Int, Int>(interval: .seconds(1), on: loop) { key, _ in
                if actions.up() == 1 {
                    loop.perform { note("block") }
                    loop.add(Loop.Timer(after: .zero) { _ in note("new timer") }, in: .default)
                    source.signal()
                    port.send()
                }
            }
            for key in 0..<1_000 { limiter(0, for: key) }
            loop.add(Loop.Timer(at: seconds(1)) { _ in note("timer") }, in: .default)
            clock.advance(by: .seconds(1))
            #expect(actions.value == 1_000 && limiter.keyCount == 0)
            #expect(Set(turns.entries.map(\.what)) == ["source", "port", "block", "timer", "new timer"])
            // The port has a pass of its own.
            for turn in turns.entries { #expect((64...192).contains(turn.actions), "\(turn)") }
            loop.end()
        }
    }

    @Test("Keys that are due together are served in the order of their calls")
    func dueKeysInOrder() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<Int>()
        let limiter = KeyedDebounce<Int, Int>(interval: .seconds(1), on: loop) { key, _ in log.add(key) }
        for key in 0..<1_000 { limiter(0, for: key) }
        clock.advance(by: .seconds(1))
        #expect(log.entries == Array(0..<1_000))
    }

    @Test("A run nested in an action serves the other keys")
    func nestedRunServesOthers() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let (actions, inside) = (Count(), Log<Int>())
        let limiter = KeyedDebounce<Int, Int>(interval: .seconds(1), on: loop) { _, _ in
            guard actions.up() == 1 else { return }
            #expect(loop.run(mode: .default, for: .zero) == .timedOut)
            inside.add(actions.value)
        }
        for key in 0..<1_000 { limiter(0, for: key) }
        clock.advance(by: .seconds(1))
        #expect(inside.entries == [65] && actions.value == 1_000)
    }

    /// Actions call, cancel and flush among a thousand keys that are due together: each key behaves like a limiter of
    /// its own.
    @Test("Actions may call, flush and cancel other due keys", arguments: 0..<20) func actionsChangeDueKeys(
        _ seed: UInt64
    ) {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let random = Box<SplitMix>()
        random.value = SplitMix(seed)
        let (calls, actions) = (Box<[Int]>(), Log<[Int]>())
        calls.value = Array(repeating: 0, count: 300)
        let limiter = Box<KeyedDebounce<Int, Int>>()
        limiter.value = KeyedDebounce.collecting(interval: .seconds(1), on: loop) { key, inputs in
            actions.add([key] + inputs)
            let other = Int(random.value!.next() % 300)
            switch random.value!.next() % 8 {
            case 0:
                limiter.value!(calls.value![other], for: other)
                calls.value![other] += 1
            case 1:
                limiter.value!.cancel(other)
                #expect(!limiter.value!.isPending(other))
                calls.value![other] = 0
            case 2: limiter.value!.flush(other)
            default: break
            }
        }
        for round in 0..<3 {
            for key in 0..<300 where round == 0 || key % 3 == round {
                limiter.value!(calls.value![key], for: key)
                calls.value![key] += 1
            }
            clock.advance(by: .seconds(1))
        }
        clock.advance(by: .seconds(100))
        #expect(limiter.value!.keyCount == 0 && loop.count(of: "timer") == 0)
        // In order, and none twice; those of cancelled bursts are missing, and numbering restarts after them.
        for key in 0..<300 {
            let inputs = actions.entries.filter { $0[0] == key }.flatMap { $0.dropFirst() }
            #expect(zip(inputs, inputs.dropFirst()).allSatisfy { $1 == $0 + 1 || $1 == 0 }, "\(key): \(inputs)")
        }
        limiter.value = nil
    }

    // MARK: Handed over together

    /// Flushes a thousand keys of a thread that is busy, and returns how many of them it has acted on in the end.
    ///
    /// - Parameters:
    ///   - whileBusy: Called after the flush.
    ///   - beforeStop: Called when the thread is not busy any more.
    private func flushed(
        _ release: RateLimitRelease = .discard, whileBusy: (LoopThread, Count) throws -> Void,
        beforeStop: (LoopThread) throws -> Void = { _ in }
    ) throws -> Int {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let (actions, end) = (Count(), Gate())
        let limiter = KeyedDebounce<Int, Int>(interval: .seconds(1), on: thread.loop, whenReleased: release) { _, _ in
            actions.up()
        }
        for key in 0..<1_000 { limiter(0, for: key) }
        thread.perform { end.wait() }
        #expect(limiter.flushAll() && !limiter.isPending(0))
        do {
            defer { end.open() }
            try whileBusy(thread, actions)
        }
        try beforeStop(thread)
        thread.stop()
        thread.join()
        return actions.value
    }

    @Test("The loop makes passes between portions of actions that were handed over together")
    func passesBetweenHandovers() throws {
        let turn = Log<Int>()
        let count = try flushed { thread, actions in
            thread.perform { turn.add(actions.value) }
        } beforeStop: { thread in
            try thread.performAndWait {}
        }
        #expect(count == 1_000)
        #expect(turn.entries == [64])
    }

    @Test("A stop loses no action that was handed over")
    func stopKeepsHandovers() throws {
        for release in [RateLimitRelease.discard, .flush] {
            #expect(try flushed(release) { thread, _ in thread.stop() } == 1_000)
        }
    }

    @Test("A stop that discards drops actions that were handed over")
    func discardingStop() throws {
        #expect(try flushed { thread, _ in thread.stop(discardingPending: true) } == 0)
    }

    @Test("A stop that discards ends a portion")
    func discardingStopEndsPortion() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let actions = Count()
        let limiter = KeyedDebounce<Int, Int>(interval: .seconds(1), on: thread.loop) { _, _ in
            if actions.up() == 100 { thread.stop(discardingPending: true) }
        }
        for key in 0..<1_000 { limiter(0, for: key) }
        limiter.flushAll()
        thread.join()
        #expect(actions.value == 100)
    }

    @Test("On the loop's thread a flush has acted when it returns")
    func flushOnLoopThread() {
        let (loop, _) = Loop.inVirtualTime(.manual)
        let actions = Count()
        let limiter = KeyedDebounce<Int, Int>(interval: .seconds(1), on: loop) { _, _ in actions.up() }
        for key in 0..<1_000 { limiter(0, for: key) }
        #expect(limiter.flushAll() && actions.value == 1_000)
    }

    // MARK: Cancelled

    @Test("Cancelled keys are forgotten at once")
    func cancelledKeys() {
        final class Name: Hashable, Sendable {
            let number: Int
            init(_ number: Int) { self.number = number }
            static func == (one: Name, other: Name) -> Bool { one.number == other.number }
            func hash(into hasher: inout Hasher) { hasher.combine(number) }
        }
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let log = Log<Int>()
        let limiter = KeyedDebounce<Name, Int>(interval: .seconds(1), on: loop) { log.add($0.number + $1) }
        weak var cancelled: Name?
        do {
            let name = Name(500)
            cancelled = name
            limiter(0, for: name)
        }
        for number in 0..<1_000 where number != 500 { limiter(0, for: Name(number)) }
        limiter.cancel(Name(500))
        #expect(cancelled == nil && limiter.keyCount == 999)
        for number in 0..<1_000 where number % 10 != 0 { limiter.cancel(Name(number)) }
        #expect(limiter.keyCount == 99)
        clock.advance(by: .seconds(1))
        #expect(log.entries == Array(stride(from: 0, to: 1_000, by: 10)).filter { $0 != 500 })
        for number in 0..<10 { limiter(0, for: Name(number)) }
        for number in 0..<10 { limiter.cancel(Name(number)) }
        // No timer is left for them, so a run has nothing to wait for.
        #expect(limiter.keyCount == 0 && loop.run(mode: .default, for: .seconds(10)) == .finished)
    }

    /// Against a list that is sorted by time and then by turn.
    @Test("The queue behaves like a sorted list", arguments: 0..<20) func queueLikeSortedList(_ seed: UInt64) {
        var table = KeyTable(capacity: 256)
        defer { table.deallocate() }
        let keys = (0..<200).map { table.addSlot(UInt32($0 % 100)) }
        var random = SplitMix(seed)
        var list: [(time: Int64, key: Int)] = []
        for _ in 0..<2_000 {
            let key = keys[Int(random.next() % 200)]
            list.removeAll { $0.key == key }
            if random.next() % 3 == 0 {
                table.unqueue(key)
                #expect(table.time(of: key) == nil)
            } else {
                let time = Int64(random.next() % 50)
                table.put(key, at: time)
                list.insert((time, key), at: list.firstIndex { $0.time > time } ?? list.count)
                #expect(table.time(of: key) == time)
            }
            #expect(table.queueCount == list.count && table.firstTime == list.first?.time)
        }
        while let (time, key) = list.first {
            #expect(table.firstDue(at: time) == key && table.firstDue(at: time - 1) == nil)
            table.unqueue(key)
            list.removeFirst()
        }
        #expect(table.queueCount == 0)
    }

    /// Against a dictionary. Few hash values, so that many keys share one.
    @Test("Keys are found among those remembered", arguments: 0..<20) func tableLikeDictionary(_ seed: UInt64) {
        var (random, table) = (SplitMix(seed), KeyTable(capacity: 8))
        var contents = KeyContents<String, Int>(capacity: 8, keepsAll: false)
        defer { contents.deallocate(with: table) }
        var known: [String: Int64] = [:]
        for turn in 0..<3_000 {
            let number = random.next() % 300
            let (key, hash) = ("key \(number)", UInt32(number % 40))
            let slot = contents.slot(of: key, hash, in: table)
            #expect(slot.flatMap { table[$0].lastCall } == known[key])
            if let slot, random.next() % 2 == 0 {
                table.unqueue(slot)
                table.removeSlot(slot)
                (contents.keys + slot).deinitialize(count: 1)
                known[key] = nil
            } else {
                if slot == nil, table.count == table.capacity { contents.resize(&table, to: 2 * table.capacity) }
                let used = slot ?? table.addSlot(hash)
                if slot == nil { (contents.keys + used).initialize(to: key) }
                table[used].lastCall = Int64(turn)
                table.put(used, at: Int64(random.next() % 50))
                known[key] = Int64(turn)
            }
            #expect(table.count == known.count)
        }
        contents.resize(&table, to: 512)
        #expect(table.count == known.count)
        for (key, time) in known {
            let slot = contents.slot(of: key, UInt32(key.dropFirst(4))! % 40, in: table)
            #expect(slot.flatMap { table[$0].lastCall } == time)
        }
    }
}
