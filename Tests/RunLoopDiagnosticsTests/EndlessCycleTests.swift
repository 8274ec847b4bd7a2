import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// Handlers that cause their own next call through others, in virtual time; and loops that are busy with input.
@Suite(.timeBound) struct EndlessCycleTests {
    /// What a handler makes the loop call next.
    enum Kind: CaseIterable {
        case block, timer, newTimer, debounce, source0, message, port
    }

    /// Handlers that pass a turn on, each to the next of a path.
    final class Ring: @unchecked Sendable {
        private let loop: Loop
        private let path: [Int]
        private var actions: [() -> Void] = []
        private var keepers: [AnyObject] = []
        private var position = 0
        private(set) var turns: Int

        /// - Parameters:
        ///   - path: The members in the order of their calls.
        ///   - turns: How many calls there are.
        init(_ kinds: [Kind], path: [Int]? = nil, turns: Int, on loop: Loop) throws {
            (self.loop, self.path, self.turns) = (loop, path ?? Array(kinds.indices), turns)
            for (index, kind) in kinds.enumerated() { try add(kind, "member \(index)") }
        }

        /// Takes virtual time in each call.
        var work: @Sendable () -> Void = {}

        func pass() {
            guard turns > 0 else { return }
            turns -= 1
            position += 1
            actions[path[(position - 1) % path.count]]()
        }

        private func turn() {
            work()
            pass()
        }

        private func add(_ kind: Kind, _ name: String) throws {
            switch kind {
            case .block: actions.append { [loop] in loop.perform(label: name) { self.turn() } }
            case .newTimer:
                actions.append { [loop] in
                    loop.add(Loop.Timer(after: .zero, label: name) { _ in self.turn() }, in: .default)
                }
            case .timer:
                let timer = Loop.Timer(restartableAfter: .zero, label: name) { _ in self.turn() }
                timer.nextFireTime = nil
                add(timer) { timer.restart() }
            case .debounce:
                let debounce = Debounce<Int>(interval: .zero, on: loop, label: name) { _ in self.turn() }
                keepers.append(debounce)
                actions.append { debounce(1) }
            case .source0:
                let source = Loop.Source0(label: name) { self.turn() }
                add(source) { source.signal() }
            case .message:
                let port = Loop.MessagePort<Int>(label: name) { _ in self.turn() }
                add(port) { port.send(1) }
            case .port:
                let port = try Loop.PortSource(label: name) { _ in self.turn() }
                add(port) { port.send() }
            }
        }

        private func add(_ item: Loop.Item, _ action: @escaping () -> Void) {
            loop.add(item, in: .default)
            keepers.append(item)
            actions.append(action)
        }

        func end() {
            for case let item as Loop.Item in keepers { item.invalidate() }
            (actions, keepers) = ([], [])
        }
    }

    private func findings(
        for duration: Duration = .seconds(1), _ prepare: (Loop, VirtualClock) throws -> Void
    ) rethrows -> [LoopTrace.Finding] {
        try LoopTrace.findings(ofRunFor: duration, prepare)
    }

    private func findings(
        of kinds: [Kind], path: [Int]? = nil, turns: Int,
        _ prepare: (Loop, VirtualClock, Ring) throws -> Void = { _, _, _ in }
    ) throws -> [LoopTrace.Finding] {
        var ring: Ring?
        defer { ring?.end() }
        return try findings { loop, clock in
            ring = try Ring(kinds, path: path, turns: turns, on: loop)
            try prepare(loop, clock, ring!)
            ring!.pass()
        }
    }

    private func members(_ finding: LoopTrace.Finding) -> [String] {
        finding.cycle.map { $0.description.split(separator: "\"").dropFirst().first.map(String.init) ?? "" }
    }

    // MARK: Cycles

    @Test("A handler of each kind that causes its own next call is endless", arguments: Kind.allCases)
    func itself(_ kind: Kind) throws {
        let findings = try findings(of: [kind], turns: 101)
        let finding = try #require(findings.first)
        #expect(findings.count == 1 && finding.kind == .endless && finding.count == 100)
        #expect(finding.cycle == [finding.handler] && finding.cause == finding.handler)
        #expect(finding.text.contains("100 times in a row"))
    }

    @Test("Two handlers of each kind that cause each other's calls are endless", arguments: Kind.allCases)
    func pairs(_ kind: Kind) throws {
        let findings = try findings(of: [kind, kind], turns: 201) { _, clock, ring in
            ring.work = { clock.advance(by: .microseconds(10)) }
        }
        let finding = try #require(findings.first)
        #expect(findings.count == 1 && finding.kind == .endless && finding.count == 100)
        #expect(members(finding) == ["member 0", "member 1"] && finding.handler == finding.cycle[0])
        #expect(finding.start.duration(to: finding.end) == .microseconds(2010))
        for part in ["\(finding.cycle[0]) and \(finding.cycle[1]) were called in turn 100 times", "in 2.01 ms"] {
            #expect(finding.text.contains(part), "\(part) is not in \(finding.text)")
        }
    }

    /// The handlers of a round are named in their order, whatever their kinds, and whatever else the loop does.
    @Test("Random cycles are found, beside other handlers")
    func randomCycles() throws {
        var random = SplitMix(7)
        for _ in 0..<40 {
            let kinds = (0..<(1 + random.below(8))).map { _ in random.pick(Kind.allCases) }
            let (isObserved, isSlow, hasNeighbours) = (random.once(in: 2), random.once(in: 2), random.once(in: 2))
            let findings = try findings(of: kinds, turns: kinds.count * 60) { loop, clock, ring in
                if isSlow { ring.work = { clock.advance(by: .microseconds(700)) } }
                if isObserved { loop.add(Loop.Observer { _, _ in }, in: .default) }
                guard hasNeighbours else { return }
                loop.add(Loop.Timer(every: .milliseconds(10), tolerance: .milliseconds(5)) { _ in }, in: .default)
                for _ in 0..<20 { loop.perform {} }
            }
            let found = findings.filter { $0.kind == .endless }
            #expect(found.count == 1, "\(kinds)")
            guard let finding = found.first else { continue }
            // A neighbour may be called at the very moment at which a timer of the cycle is due.
            let members = members(finding).filter { !$0.isEmpty }
            let expected = kinds.indices.map { "member \($0)" }
            let start = members.first.flatMap { expected.firstIndex(of: $0) } ?? 0
            #expect(members == Array(expected[start...] + expected[..<start]), "\(kinds)")
            #expect((58...60).contains(finding.count), "\(kinds)")
        }
    }

    @Test("A member may be called several times in a round")
    func severalTimes() throws {
        let findings = try findings(of: [.block, .source0, .message], path: [0, 1, 0, 2], turns: 400)
        let finding = try #require(findings.first)
        #expect(findings.count == 1 && finding.count >= 198 && finding.handler.description.contains("member 0"))
        #expect(finding.cycle.count == 2)
    }

    @Test("A round of more than 64 handlers is none")
    func longestRound() throws {
        let most = CycleSearch.longestRound
        let kinds = { Array(repeating: Kind.block, count: $0) }
        #expect(try findings(of: kinds(most), turns: most * 60).map(\.kind) == [.endless])
        #expect(try findings(of: kinds(most + 1), turns: (most + 1) * 60).isEmpty)
    }

    @Test("Fewer than 50 rounds are none")
    func fewRounds() throws {
        #expect(try findings(of: [.timer, .block], turns: 100).isEmpty)
        #expect(try findings(of: [.timer, .block], turns: 101).count == 1)
    }

    @Test("An observer that posts a block in each pass is part of the cycle")
    func observer() throws {
        let findings = findings { loop, _ in
            let count = Count()
            loop.add(Loop.Timer(after: .seconds(1)) { _ in }, in: .default)
            loop.add(
                Loop.Observer(.beforeWaiting, label: "eager") { _, _ in
                    if count.up() < 100 { loop.perform(label: "posted") {} }
                }, in: .default)
        }
        let finding = try #require(findings.first)
        #expect(findings.count == 1 && finding.kind == .endless)
        #expect(Set(members(finding)) == ["eager", "posted"])
    }

    // MARK: No cycles

    @Test("A cycle in which the loop sleeps is none")
    func sleepingCycle() {
        let findings = findings { loop, _ in
            let box = Box<Loop.Timer>()
            let first = Loop.Timer(after: .milliseconds(1), repeating: .milliseconds(1), label: "first") { _ in
                loop.perform { box.value?.restart(after: .microseconds(500)) }
            }
            let second = Loop.Timer(restartableAfter: .zero, label: "second") { _ in loop.perform {} }
            box.value = second
            for timer in [first, second] { loop.add(timer, in: .default) }
            loop.add(Loop.Timer(after: .seconds(1)) { _ in box.value = nil })
        }
        #expect(findings.isEmpty)
    }

    @Test("A program that runs its loop for moments between other work is none")
    func moments() {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        loop.add(Loop.Timer(every: .milliseconds(16), label: "frame") { _ in loop.perform {} })
        for _ in 0..<500 {
            clock.advance(by: .milliseconds(16))
            loop.perform(label: "game") {}
            loop.run(mode: .default, for: .zero)
        }
        #expect(tracer.snapshot().findings.filter { $0.kind == .endless }.isEmpty)
    }

    @Test("A hosted loop whose host sleeps between its passes is none")
    func hosted() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        loop.add(Loop.Timer(every: .milliseconds(16), label: "frame") { _ in loop.perform {} })
        _ = try loop.hosting.begin()
        for _ in 0..<500 {
            clock.advance(by: .milliseconds(16))
            while loop.hosting.pass() == .more {}
        }
        loop.hosting.end()
        #expect(tracer.snapshot().findings.filter { $0.kind == .endless }.isEmpty)
    }

    /// What each input causes: some calls of each kind, which end.
    private func react(on loop: Loop) throws -> @Sendable () -> Void {
        let port = Loop.MessagePort<Int>(label: "port") { _ in }
        let source = Loop.Source0(label: "source") { port.send(1) }
        let timer = Loop.Timer(restartableAfter: .zero, label: "timer") { _ in source.signal() }
        timer.nextFireTime = nil
        for item in [port, source, timer] { loop.add(item, in: .default) }
        loop.add(Loop.Observer(.all) { _, _ in }, in: .default)
        let debounce = Debounce<Int>(interval: .zero, on: loop, label: "debounce") { _ in loop.perform {} }
        return {
            timer.restart()
            debounce(1)
            loop.perform(label: "reaction") {}
        }
    }

    @Test("What another thread posts is input, whatever its handlers cause")
    func posts() throws {
        for work in [Duration.zero, .microseconds(30), .milliseconds(3)] {
            let findings = try findings { loop, clock in
                let react = try react(on: loop)
                let thread = try LoopThread(name: "poster")
                try thread.performBlocking {
                    for _ in 0..<300 {
                        loop.perform(label: "input") {
                            react()
                            clock.advance(by: work)
                        }
                    }
                }
                thread.stop()
                thread.joinBlocking()
            }
            #expect(findings.filter { $0.kind == .endless }.isEmpty, "\(work)")
        }
    }

    @Test("What a descriptor brings is input, whatever its handler causes")
    func descriptor() throws {
        let findings = try findings { loop, clock in
            let react = try react(on: loop)
            let pipe = Ends.pipe()
            pipe.send(String(repeating: "x", count: 300))
            let count = Count()
            let source = try Loop.FileDescriptorSource(pipe.reader) { source, _ in
                _ = pipe.take(1)
                react()
                clock.advance(by: .microseconds(20))
                if count.up() == 300 { source.invalidate() }
            }
            loop.add(source, in: .default)
        }
        #expect(findings.filter { $0.kind == .endless }.isEmpty)
    }
}
