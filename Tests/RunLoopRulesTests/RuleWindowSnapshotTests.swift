import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

private func encode(_ snapshot: RuleEngine.Snapshot) throws -> Data {
    let coder = JSONEncoder()
    coder.outputFormatting = .sortedKeys
    return try coder.encode(snapshot)
}

/// Windows of the mode `firstly`, which go on from one start of a program to the next.
@Suite(.timeBound) struct RuleWindowSnapshotTests {
    /// One start of the program. The wall clock is the only thing that it has in common with the one before.
    private struct Start {
        let scene = RuleScene(.manual)
        let wallClockAtStart: Int64

        init(at wallClock: Int64) {
            wallClockAtStart = wallClock
            scene.scene.clock.setWallClock(to: Loop.Instant(nanoseconds: wallClock * 1_000_000))
        }

        /// A start with a persistent rule of 100 ms, whose window has just begun.
        init(inWindowAt wallClock: Int64) throws {
            self.init(at: wallClock)
            try limit(100)
            #expect(runs(at: wallClock))
        }

        /// Whether a call runs that is made at a time of the wall clock, in milliseconds.
        func runs(at wallClock: Int64) -> Bool {
            let target = Loop.Instant(nanoseconds: (wallClock - wallClockAtStart) * 1_000_000)
            scene.scene.clock.advance(by: target - scene.scene.clock.now)
            let before = scene.ran.count
            scene.saving(RuleDraft(), 0)
            return scene.ran.count > before
        }

        /// What a file would contain.
        func saved() throws -> Data { try encode(scene.engine.snapshot()) }

        func restore(_ data: Data) throws {
            try scene.engine.apply(JSONDecoder().decode(RuleEngine.Snapshot.self, from: data), on: scene.loop)
        }

        func limit(_ interval: Int64, _ mode: AnyMethodRule.Mode = .firstly) throws {
            try scene.limit(RuleDraft.self, interval, mode, isPersistent: true)
        }
    }

    @Test("A window goes on at the next start")
    func windowGoesOn() throws {
        let first = Start(at: 1_000_000)
        try first.limit(100)
        #expect(first.runs(at: 1_000_030))
        #expect(!first.runs(at: 1_000_090))
        let data = try first.saved()

        let second = Start(at: 1_000_100)
        try second.restore(data)
        #expect(try second.saved() == data)
        #expect(!second.runs(at: 1_000_129))
        #expect(second.runs(at: 1_000_130))
    }

    @Test("A window that is over is not saved")
    func windowOver() throws {
        let first = Start(at: 5000)
        try first.limit(100)
        let unused = try first.saved()
        #expect(first.runs(at: 5000))
        #expect(try first.saved() != unused)
        #expect(!first.runs(at: 5099))
        first.scene.scene.clock.advance(by: .milliseconds(1))
        #expect(try first.saved() == unused)
        #expect(!String(decoding: unused, as: UTF8.self).contains("window"))
    }

    @Test("A window that ends between two starts is over")
    func windowEndsBetweenStarts() throws {
        let first = try Start(inWindowAt: 5000)
        let second = Start(at: 5100)
        try second.restore(first.saved())
        #expect(second.runs(at: 5100))
    }

    @Test("A wall clock that was set back makes no window longer")
    func wallClockSetBack() throws {
        let first = try Start(inWindowAt: 5000)
        let second = Start(at: 300)
        try second.restore(first.saved())
        #expect(!second.runs(at: 399))
        #expect(second.runs(at: 400))
    }

    @Test(
        "A wall clock that is set while the program runs neither ends the window nor makes it longer",
        arguments: [(10, 5000), (5000, 10)] as [(Int64, Int64)])
    func wallClockSetMeanwhile(_ before: Int64, _ after: Int64) throws {
        for isSaved in [false, true] {
            let first = try Start(inWindowAt: before)
            if isSaved { _ = try first.saved() }
            first.scene.scene.clock.setWallClock(to: Loop.Instant(nanoseconds: after * 1_000_000))
            let data = try first.saved()
            #expect(try first.saved() == data)

            let second = Start(at: after + 10)
            try second.restore(data)
            #expect(!second.runs(at: after + 99))
            #expect(second.runs(at: after + 100))
        }
    }

    @Test("A window that was taken before the machine knew the time goes on at the next start")
    func wallClockUnknownAtStart() throws {
        let first = try Start(inWindowAt: 1_000_000)

        let second = Start(at: 0)
        try second.restore(first.saved())
        _ = try second.saved()
        #expect(!second.runs(at: 30))
        second.scene.scene.clock.setWallClock(to: Loop.Instant(nanoseconds: 1_000_050 * 1_000_000))

        let third = Start(at: 1_000_060)
        try third.restore(second.saved())
        #expect(!third.runs(at: 1_000_119))
        #expect(third.runs(at: 1_000_120))
    }

    @Test("A rule that a program applies before the snapshot takes the saved window")
    func ruleInForce() throws {
        let first = try Start(inWindowAt: 5000)
        let data = try first.saved()

        let second = Start(at: 5010)
        try second.limit(50)
        try second.restore(data)
        #expect(!second.runs(at: 5099))
        // One that has begun a window of its own keeps that.
        let third = Start(at: 5010)
        try third.limit(50)
        #expect(third.runs(at: 5020))
        try third.restore(data)
        #expect(!third.runs(at: 5119))
        #expect(third.runs(at: 5120))
    }

    @Test("A rule that has delayed a call takes the saved window once the call has run, and not before")
    func ruleThatHasDelayed() throws {
        let first = try Start(inWindowAt: 5000)
        let data = try first.saved()

        let second = Start(at: 5010)
        try second.limit(10, .debounce)
        #expect(!second.runs(at: 5010))
        second.scene.scene.clock.advance(by: .milliseconds(10))
        #expect(second.scene.ran.count == 1)
        try second.restore(data)
        #expect(!second.runs(at: 5099))
        #expect(second.runs(at: 5100))

        let third = Start(at: 5010)
        try third.limit(10, .debounce)
        #expect(!third.runs(at: 5010))
        try third.restore(data)
        // Otherwise neither the delayed call nor this one, which replaces it, would run.
        #expect(third.runs(at: 5015))
        #expect(!third.runs(at: 5114))
    }

    @Test("A window that was taken does not swallow the call that supersedes a delayed one")
    func supersedingInTheWindow() throws {
        let first = try Start(inWindowAt: 5000)

        let second = Start(at: 5010)
        let rule = try second.scene.limit(RuleDraft.self, 100, .debounce, isPersistent: true)
        // Makes the limiter, and holds back nothing any more.
        #expect(!second.runs(at: 5010))
        rule.flush()
        try second.restore(first.saved())
        rule.mode = .debounce
        #expect(!second.runs(at: 5020) && rule.isPending)
        rule.mode = .firstly
        #expect(second.runs(at: 5030) && !rule.isPending)
        #expect(!second.runs(at: 5129))
        #expect(second.runs(at: 5130))
    }

    @Test("A rule in force measures the saved window by its own loop's clock")
    func clockOfRuleInForce() throws {
        let first = try Start(inWindowAt: 5000)
        let data = try first.saved()

        let second = Start(at: 5010)
        try second.limit(100)
        // In another time: there the window was over long ago.
        let other = Loop.inVirtualTime().0
        defer { other.end() }
        try second.scene.engine.apply(JSONDecoder().decode(RuleEngine.Snapshot.self, from: data), on: other)
        #expect(!second.runs(at: 5099))
        #expect(second.runs(at: 5100))
    }

    @Test("A saved window that is over is not taken, and does not keep a later one from being taken")
    func twoSnapshots() throws {
        let first = try Start(inWindowAt: 5000)
        let old = try first.saved()
        #expect(first.runs(at: 5150))
        let new = try first.saved()

        let second = Start(at: 5200)
        try second.restore(old)
        #expect(!String(decoding: try second.saved(), as: UTF8.self).contains("window"))
        try second.restore(new)
        #expect(!second.runs(at: 5249))
        #expect(second.runs(at: 5250))
    }

    @Test(
        "Any number is a valid start of a window", arguments: [0, 1, Int64.max - 1, .max],
        [Int64.min + 1, -1000, 0, 5000])
    func anyStart(_ start: Int64, _ wallClock: Int64) throws {
        let entry = RuleEntry(target: RuleEntry.name(of: RuleDraft.self)).json
            .replacing("\"last\"", with: "\"firstly\",\"windowStartNanoseconds\":\(start)")
        let scene = RuleScene(.manual)
        scene.scene.clock.setWallClock(to: Loop.Instant(nanoseconds: wallClock))
        try scene.engine.apply(RuleEntry.decode(RuleEntry.snapshot(entry)), on: scene.loop)
        #expect(try scene.engine.snapshot().rules.count == 1)
        // No window is longer than the interval.
        scene.scene.clock.advance(by: .milliseconds(250))
        scene.saving(RuleDraft(), 1)
        #expect(scene.ran.count == 1)
    }

    @Test("Two snapshots of an unchanged engine are the same, in real time too")
    func sameSnapshots() throws {
        let engine = RuleEngine()
        let saving = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, _ in }
        let thread = try LoopThread()
        try engine.apply(
            saving.rule(
                for: RuleDraft.self, interval: .seconds(3600), mode: .firstly, on: thread.loop, isPersistent: true))
        saving(RuleDraft(), 1)
        let snapshot = try engine.snapshot()
        #expect(snapshot.rules[0].windowStartNanoseconds != nil)
        for _ in 0..<100 { #expect(try engine.snapshot() == snapshot) }
    }

    @Test("A rule that waits for its method keeps the saved window")
    func waitingRule() throws {
        let first = try Start(inWindowAt: 5000)
        let data = try first.saved()

        let engine = RuleEngine()
        let (loop, clock) = Loop.inVirtualTime(.manual)
        clock.setWallClock(to: Loop.Instant(nanoseconds: 5_010_000_000))
        try engine.apply(JSONDecoder().decode(RuleEngine.Snapshot.self, from: data), on: loop)
        #expect(try encode(engine.snapshot()) == data)
        clock.advance(by: .milliseconds(40))
        let log = Log<Int>()
        let saving = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, input in log.add(input) }
        saving(RuleDraft(), 5050)
        clock.advance(by: .milliseconds(50))
        saving(RuleDraft(), 5100)
        #expect(log.entries == [5100])
    }

    @Test("Only the mode firstly has a window to save", arguments: [AnyMethodRule.Mode.last, .debounce])
    func otherModes(_ mode: AnyMethodRule.Mode) throws {
        let first = Start(at: 5000)
        try first.limit(100, mode)
        let before = try first.saved()
        #expect(!first.runs(at: 5000))
        #expect(try first.saved() == before)
        // A file that has one all the same: the rule delays its calls, as ever.
        let odd = String(decoding: before, as: UTF8.self).replacing("[{", with: "[{\"windowStartNanoseconds\":1,")
        let second = Start(at: 5000)
        try second.restore(Data(odd.utf8))
        #expect(!second.runs(at: 5000))
        #expect(try second.saved() == before)
    }

    @Test("A snapshot that has no window reads as before; an invalid one is refused")
    func field() throws {
        let entry = RuleEntry(target: RuleEntry.name(of: RuleDraft.self)).json
        #expect(try RuleEntry.decode(RuleEntry.snapshot(entry)).rules[0].windowStartNanoseconds == nil)
        for (value, found) in [("-1", "is -1"), ("null", "is null"), ("\"now\"", "is \"now\""), ("0.5", "is 0.5")] {
            let odd = entry.replacing("{", with: "{\"windowStartNanoseconds\":\(value),")
            #expect {
                try RuleEntry.decode(RuleEntry.snapshot(odd))
            } throws: {
                "\($0)".contains("windowStartNanoseconds \(found); it must be a whole number from 0, or absent")
            }
        }
    }

    /// The law that finds what the cases above do not think of.
    @Test(
        "A program that is started anew at any moments lets the same calls run as one that goes on", arguments: 0..<50)
    func startedAnew(_ seed: UInt64) throws {
        var random = SplitMix(seed)
        let interval = Int64.random(in: 1...200, using: &random)
        let whole = Start(at: 1000)
        try whole.limit(interval)
        var part = Start(at: 1000)
        try part.limit(interval)
        var time: Int64 = 1000
        for _ in 0..<100 {
            time += Int64.random(in: 0...80, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 {
                let data = try part.saved()
                part = Start(at: time)
                if Bool.random(using: &random) { try part.limit(interval) }
                try part.restore(data)
            } else {
                #expect(part.runs(at: time) == whole.runs(at: time), "at \(time), intervals of \(interval)")
            }
        }
    }
}
