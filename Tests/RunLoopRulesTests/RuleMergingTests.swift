import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Rules that merge the inputs of a burst.
@Suite(.timeBound) struct RuleMergingTests {
    /// A method whose inputs are lists, and a log of its runs.
    private struct Desk {
        struct Trade: Equatable {
            let time: Int64
            let target: ObjectIdentifier
            let orders: [Int]
        }

        let loop: Loop
        let clock: VirtualClock
        let engine = RuleEngine()
        let log = Log<Trade>()
        let trading: LimitedMethod<RuleDocument, [Int]>

        init() {
            (loop, clock) = Loop.inVirtualTime()
            trading = LimitedMethod("trade", engine: engine) { [log, clock] target, orders in
                log.add(
                    Trade(time: clock.now.nanoseconds / 1_000_000, target: ObjectIdentifier(target), orders: orders))
            }
        }

        func at(_ milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
            loop.add(Loop.Timer(at: Loop.Instant(nanoseconds: milliseconds * 1_000_000)) { _ in body() }, in: .default)
        }

        func run() { #expect(loop.run(mode: .default, for: .seconds(1000)) == .finished) }

        /// Calls the method with each time as an order, at that time.
        func send(_ times: Int64..., to target: RuleDocument) {
            for time in times { at(time) { trading(target, [Int(time)]) } }
        }

        func rule(
            for target: RuleDocument, _ mode: AnyMethodRule.Mode
        ) -> MethodRule<RuleDocument, [Int]> {
            trading.rule(for: target, interval: .milliseconds(100), mode: mode, on: loop, merging: +)
        }

        func rule(for type: RuleDocument.Type, _ mode: AnyMethodRule.Mode) -> MethodRule<RuleDocument, [Int]> {
            trading.rule(for: type, interval: .milliseconds(100), mode: mode, on: loop, merging: +)
        }

        func trade(_ time: Int64, _ target: RuleDocument, _ orders: Int...) -> Trade {
            Trade(time: time, target: ObjectIdentifier(target), orders: orders)
        }
    }

    @Test(
        "A rule merges a burst in the order of the calls and loses none",
        arguments: [(AnyMethodRule.Mode.last, 100), (.debounce, 170)] as [(AnyMethodRule.Mode, Int64)])
    func mergesBurstInOrder(_ mode: AnyMethodRule.Mode, _ end: Int64) throws {
        let desk = Desk()
        let account = RuleDocument()
        try desk.rule(for: account, mode).apply()
        desk.send(0, 30, 50, 70, 500, to: account)
        desk.run()
        #expect(desk.log.entries == [desk.trade(end, account, 0, 30, 50, 70), desk.trade(600, account, 500)])
    }

    @Test("Calls that the class's rule merges run before those that come under an object's own rule")
    func objectOfClass() throws {
        let desk = Desk()
        let (account, other, third) = (RuleDocument(), RuleDocument(), RuleDocument())
        try desk.rule(for: RuleDocument.self, .last).apply()
        for (target, order) in [(account, 1), (other, 2)] { desk.trading(target, [order]) }
        try desk.rule(for: third, .last).apply()
        #expect(desk.log.entries.isEmpty)
        try desk.rule(for: account, .last).apply()
        #expect(desk.log.entries == [desk.trade(0, account, 1), desk.trade(0, other, 2)])
        desk.trading(account, [3])
        desk.run()
        #expect(desk.log.entries.last == desk.trade(100, account, 3))
    }

    @Test("Merging has no effect in the mode firstly")
    func mergingInFirstly() throws {
        let desk = Desk()
        let account = RuleDocument()
        try desk.rule(for: account, .firstly).apply()
        desk.send(0, 30, 100, to: account)
        desk.run()
        #expect(desk.log.entries == [desk.trade(0, account, 0), desk.trade(100, account, 100)])
    }

    /// The objects of a class are limited together, but none gets the inputs of another.
    @Test("A class's rule merges separately for each target")
    func mergesForEachTarget() throws {
        let desk = Desk()
        let (one, other) = (RuleDocument(), RuleDraft())
        try desk.rule(for: RuleDocument.self, .last).apply()
        for (time, account) in [(0, one), (10, other), (20, other), (30, one)] as [(Int64, RuleDocument)] {
            desk.send(time, to: account)
        }
        desk.run()
        #expect(desk.log.entries == [desk.trade(100, one, 0, 30), desk.trade(100, other, 10, 20)])
    }

    @Test("A static method's inputs are merged for each type")
    func mergesStaticMethod() throws {
        let (loop, _) = Loop.inVirtualTime()
        let engine = RuleEngine()
        let log = Log<String>()
        let purging = LimitedMethod<RuleDocument.Type, [Int]>("purge", engine: engine) { log.add("\($0) \($1)") }
        let rule = purging.rule(
            for: RuleDocument.self, interval: .seconds(1), mode: .last, on: loop, merging: { $0 + $1 })
        try rule.apply()
        purging(RuleDocument.self, [1])
        purging(RuleDraft.self, [2])
        purging(RuleDocument.self, [3])
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(log.entries == ["RuleDocument [1, 3]", "RuleDraft [2]"])
    }

    @Test("Merged calls retain their targets")
    func mergedCallsRetainTargets() throws {
        let desk = Desk()
        try desk.rule(for: RuleDocument.self, .last).apply()
        weak var gone: RuleDocument?
        do {
            let account = RuleDocument()
            gone = account
            desk.trading(account, [1])
            desk.trading(RuleDocument(), [2])
        }
        #expect(gone != nil)
        desk.run()
        #expect(gone == nil && desk.log.entries.map(\.orders) == [[1], [2]])
    }

    @Test("A call from the target's deinit runs at once", arguments: [AnyMethodRule.Mode.last, .debounce])
    func deinitCallRunsAtOnce(_ mode: AnyMethodRule.Mode) throws {
        final class Account: Sendable {
            let goes: @Sendable (Account) -> Void
            init(_ goes: @escaping @Sendable (Account) -> Void) { self.goes = goes }
            deinit { goes(self) }
        }
        let (loop, _) = Loop.inVirtualTime()
        let engine = RuleEngine()
        let log = Log<[Int]>()
        let trading = LimitedMethod<Account, [Int]>("trade", engine: engine) { log.add($1) }
        try trading.rule(for: Account.self, interval: .seconds(1), mode: mode, on: loop, merging: +).apply()
        let kept = Account { _ in }
        trading(kept, [1])
        do { _ = Account { trading($0, [2]) } }
        #expect(log.entries == [[2]])
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(log.entries == [[2], [1]])
    }

    // MARK: Nothing is lost

    @Test("Discarding and the loop's end run the merged calls")
    func discardRunsMerged() throws {
        for ends in [false, true] {
            let desk = Desk()
            let account = RuleDocument()
            let rule = desk.rule(for: account, .last)
            try rule.apply()
            for order in 1...3 { desk.trading(account, [order]) }
            if ends { desk.loop.end() } else { try rule.discard() }
            #expect(desk.log.entries == [desk.trade(0, account, 1, 2, 3)])
            desk.trading(account, [4])
            #expect(desk.log.entries.last == desk.trade(0, account, 4))
        }
    }

    /// Without merging a call replaces the one that was delayed under other settings.
    @Test("Changed settings lose no merged call")
    func changedSettings() throws {
        let changes: [@Sendable (MethodRule<RuleDocument, [Int]>) -> Void] = [
            { $0.interval = .milliseconds(10) }, { $0.interval = .zero }, { $0.mode = .debounce },
            { $0.mode = .firstly }, { $0.merging = nil }, { $0.merging = { $1 + $0 } },
        ]
        for change in changes {
            let desk = Desk()
            let account = RuleDocument()
            let rule = desk.rule(for: account, .last)
            try rule.apply()
            desk.at(25) { change(rule) }
            desk.send(0, 20, 30, to: account)
            desk.run()
            #expect(desk.log.entries.first == desk.trade(30, account, 0, 20))
            #expect(desk.log.entries.map(\.orders) == [[0, 20], [30]])
        }
    }

    @Test("A replaced rule loses nothing")
    func replacedRuleLosesNothing() throws {
        let desk = Desk()
        let account = RuleDocument()
        try desk.rule(for: account, .last).apply()
        desk.at(25) { try! desk.rule(for: account, .last).apply() }
        desk.send(0, 20, 30, to: account)
        desk.run()
        #expect(desk.log.entries == [desk.trade(30, account, 0, 20), desk.trade(130, account, 30)])
    }

    @Test("An exception runs at once and leaves the burst alone")
    func exceptionInBurst() throws {
        let desk = Desk()
        let account = RuleDocument()
        let rule = desk.rule(for: account, .last)
        rule.alwaysRun = { _, orders in orders == [20] }
        try rule.apply()
        desk.send(0, 20, 30, to: account)
        desk.run()
        #expect(desk.log.entries == [desk.trade(20, account, 20), desk.trade(100, account, 0, 30)])
    }

    @Test("merging can be read and set")
    func mergingProperty() throws {
        let desk = Desk()
        let rule = desk.trading.rule(for: RuleDocument.self, interval: .milliseconds(100), mode: .last, on: desk.loop)
        #expect(rule.merging == nil)
        rule.merging = { $0 + $1 }
        #expect(rule.merging?([1], [2]) == [1, 2])
        let account = RuleDocument()
        try rule.apply()
        desk.send(0, 50, to: account)
        desk.run()
        #expect(desk.log.entries == [desk.trade(100, account, 0, 50)])
    }

    @Test("The closure's captures are released without a lock")
    func mergingReleasesUnlocked() throws {
        final class Caller: Sendable {
            let goes: @Sendable () -> Void
            init(_ goes: @escaping @Sendable () -> Void) { self.goes = goes }
            deinit { goes() }
        }
        let desk = Desk()
        let goes = Count()
        let rule = desk.rule(for: RuleDocument.self, .last)
        func capture() {
            let caller = Caller { [weak rule] in
                goes.up()
                _ = rule?.interval
            }
            rule.merging = { left, right in withExtendedLifetime(caller) { left + right } }
        }
        capture()
        capture()
        #expect(goes.value == 1)
        rule.merging = nil
        #expect(goes.value == 2)
    }

    /// Each order arrives exactly once, whatever happens to the rule meanwhile.
    @Test("No merged input is lost while other threads call and rules change")
    func concurrentMerging() throws {
        let thread = try LoopThread(clock: VirtualClock())
        let engine = RuleEngine()
        let log = Log<[Int]>()
        let trading = LimitedMethod<RuleDocument, [Int]>("trade", engine: engine) { log.add($1) }
        let accounts = (0..<3).map { _ in RuleDocument() }
        let senders = try (0..<3).map { _ in try LoopThread() }
        for (index, sender) in senders.enumerated() {
            sender.perform {
                for order in 0..<300 { trading(accounts[order % 3], [index * 300 + order]) }
            }
        }
        for round in 0..<60 {
            let rule = trading.rule(
                for: RuleDocument.self, interval: .nanoseconds(50), mode: round % 2 == 0 ? .last : .debounce,
                on: thread.loop, merging: +)
            try rule.apply()
            switch round % 4 {
            case 0: rule.interval = .nanoseconds(60)
            case 1: rule.merging = { $0 + $1 }
            case 2: rule.mode = .debounce
            default: break
            }
            if round % 3 == 0 { try rule.discard() }
        }
        for sender in senders { try sender.performAndWait {} }
        for rule in engine.rules { try rule.discard() }
        try thread.performAndWait {}
        #expect(log.entries.flatMap { $0 }.sorted() == Array(0..<900))
    }
}
