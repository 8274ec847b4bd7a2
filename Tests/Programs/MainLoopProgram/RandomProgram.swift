import TestSupport

/// A random program on the main loop, as data: the steps of the main script, and of each callout. The initial thread
/// plays it.
struct RandomProgram: ScriptedProgram, CustomStringConvertible {
    enum Mode: String, CaseIterable, Sendable {
        case `default`
        /// Common from the beginning, never, and from a step on.
        case tracking, apart, late
    }

    /// Work that is handed to the main loop, and plays a script.
    enum Work: String, CaseIterable, Sendable {
        /// A job of the main queue, and of the main actor.
        case job, task
        case block, timer, port

        var isOfMainQueue: Bool { self == .job || self == .task }
    }

    indirect enum Step: Sendable {
        case post(Work, Mode, script: Int)
        /// A run that makes one pass, or passes until it has nothing to do.
        case poll(Mode), run(Mode)
        case stop
        /// As a host that serves only the main queue does.
        case serve
        /// A host makes passes until nothing is left to do.
        case host(Mode)
        case becomeCommon
        /// Another thread plays the step, while this one waits.
        case elsewhere(Step)
    }

    let seed: UInt64
    /// Script 0 is the program itself.
    var scripts: [[Step]] = [[]]
    private var random: SplitMix

    init(_ seed: UInt64) {
        self.seed = seed
        random = SplitMix(seed)
        scripts[0] = (0..<14).map { _ in step(depth: 0) }
        if random.once(in: 4) { scripts[0] += lateCommonMode() }
    }

    /// A mode that becomes common has seen the queue's edge before.
    private mutating func lateCommonMode() -> [Step] {
        let job = Step.post(.job, .late, script: script(depth: 2))
        return [.run(.default), job, .poll(.late), .becomeCommon, .run(.late)]
    }

    private mutating func script(depth: Int) -> Int {
        let count = depth > 3 ? 0 : random.below(5 - depth)
        let steps = (0..<count).map { _ in step(depth: depth) }
        scripts.append(steps)
        return scripts.count - 1
    }

    private mutating func step(depth: Int) -> Step {
        let mode = random.pick([Mode.default, .default, .tracking, .apart, .late])
        switch random.below(20) {
        case 0..<9:
            let work = random.pick([Work.job, .job, .task] + Work.allCases)
            let post = Step.post(work, mode, script: script(depth: depth + 1))
            return random.once(in: 5) ? .elsewhere(post) : post
        case 9..<12: return .poll(mode)
        case 12..<16: return .run(mode)
        case 16: return random.once(in: 3) ? .elsewhere(.stop) : .stop
        case 17: return .serve
        case 18: return depth == 0 ? .host(mode) : .run(mode)
        default: return random.once(in: 4) ? .becomeCommon : .poll(mode)
        }
    }

    var description: String {
        scripts.indices.filter { !scripts[$0].isEmpty }.map { index in
            "script \(index):\n" + scripts[index].map { "    \($0)\n" }.joined()
        }.joined()
    }
}
