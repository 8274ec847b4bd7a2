import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Random programs of runs nested in blocks, timers and observers, which post for all modes and wake the loop.
///
/// One law: no run goes to sleep while a block that has woken the loop waits for its mode, whichever run has taken the
/// wake-up. `RANDOM_SEED` and `RANDOM_PROGRAMS` choose other programs.
@Suite(.timeBound) struct NestedRunProgramTests {
    private struct NestingProgram: ScriptedProgram, CustomStringConvertible {
        enum Step: CustomStringConvertible {
            case post(mode: Int, script: Int)
            case run(mode: Int, milliseconds: Int)
            case timer(mode: Int, milliseconds: Int, script: Int)
            case observer(mode: Int, Loop.Activity, script: Int)
            case wakeUp, stop

            var description: String {
                switch self {
                case .post(let mode, let script): "post \(script) for mode \(mode)"
                case .run(let mode, let milliseconds): "run mode \(mode) for \(milliseconds) ms"
                case .timer(let mode, let milliseconds, let script): "in \(milliseconds) ms of mode \(mode): \(script)"
                case .observer(let mode, let activity, let script): "at the next \(activity) of mode \(mode): \(script)"
                case .wakeUp: "wake up"
                case .stop: "stop"
                }
            }
        }

        /// Script 0 is the program itself. A script begins later ones only.
        var scripts: [[Step]] = []

        init(_ seed: UInt64) {
            var random = SplitMix(seed)
            let count = 3 + random.below(8)
            for index in 0..<count {
                scripts.append((0..<1 + random.below(4)).map { _ in Self.step(after: index, of: count, &random) })
            }
            scripts[0].append(.run(mode: 0, milliseconds: 100))
        }

        private static func step(after script: Int, of count: Int, _ random: inout SplitMix) -> Step {
            let (mode, later) = (random.below(modes.count), script + 1 + random.below(max(1, count - script - 1)))
            guard later < count else { return .run(mode: mode, milliseconds: random.below(2)) }
            switch random.below(12) {
            case 0..<4: return .post(mode: mode, script: later)
            case 4..<7: return .run(mode: mode, milliseconds: random.below(3))
            case 7, 8: return .timer(mode: mode, milliseconds: random.below(4), script: later)
            case 9, 10: return .observer(mode: mode, random.pick(activities), script: later)
            default: return random.once(in: 3) ? .stop : .wakeUp
            }
        }

        var description: String {
            scripts.enumerated().filter { !$0.element.isEmpty }.map { index, steps in
                "script \(index): " + steps.map(\.description).joined(separator: "; ")
            }.joined(separator: "\n")
        }

        static let modes: [Loop.Mode] = ["default", "inner", "innermost"]
        private static let activities: [Loop.Activity] = [
            .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
        ]
    }

    private final class Player: LoopMonitor, @unchecked Sendable {
        private let program: NestingProgram
        private let loop: Loop
        private var depth = 0
        private var stepsLeft = 200
        var violation: String?

        init(_ program: NestingProgram) {
            self.program = program
            loop = Loop.inVirtualTime().0
        }

        func play() {
            defer { loop.end() }
            // So that a run of any mode sleeps until its end.
            for mode in NestingProgram.modes { loop.add(Loop.Timer(after: .seconds(3600)) { _ in }, in: mode) }
            loop.attach(self)
            play(script: 0)
            loop.detach(self)
        }

        func willWait(until deadline: Int64, in mode: Loop.Mode) {
            let hasBlock = loop.lock.withLock { loop.hasBlock(for: loop.state(for: mode)) }
            if hasBlock { violation = violation ?? "a run in \(mode) goes to sleep at \(loop.now), and a block waits" }
        }

        private func play(script: Int) {
            for step in program.scripts[script] {
                stepsLeft -= 1
                guard stepsLeft > 0, violation == nil else { return loop.stop() }
                play(step)
            }
        }

        private func play(_ step: NestingProgram.Step) {
            switch step {
            case .post(let mode, let script):
                loop.perform(in: NestingProgram.modes[mode]) { [unowned self] in play(script: script) }
            case .run(let mode, let milliseconds):
                guard depth < 5 else { return }
                depth += 1
                loop.run(mode: NestingProgram.modes[mode], for: .milliseconds(milliseconds))
                depth -= 1
            case .timer(let mode, let milliseconds, let script):
                let timer = Loop.Timer(after: .milliseconds(milliseconds)) { [unowned self] _ in play(script: script) }
                loop.add(timer, in: NestingProgram.modes[mode])
            case .observer(let mode, let activity, let script):
                let observer = Loop.Observer(activity, repeats: false) { [unowned self] _, _ in play(script: script) }
                loop.add(observer, in: NestingProgram.modes[mode])
            case .wakeUp: loop.wakeUp()
            case .stop: loop.stop()
            }
        }
    }

    private static func violation(of program: NestingProgram) -> String? {
        let player = Player(program)
        player.play()
        return player.violation
    }

    @Test("No run sleeps while a block waits for it, however runs are nested")
    func noRunSleeps() {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["RANDOM_SEED"].flatMap { UInt64($0) } ?? 1
        let count = environment["RANDOM_PROGRAMS"].flatMap { UInt64($0) } ?? programCount(10_000)
        for seed in first..<first + count {
            let program = NestingProgram(seed)
            guard let violation = Self.violation(of: program) else { continue }
            let small = program.shrunk { Self.violation(of: $0) != nil }
            Issue.record("seed \(seed): \(violation)\n\(small)")
            return
        }
    }
}
