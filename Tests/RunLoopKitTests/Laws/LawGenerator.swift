import TestSupport

/// Makes programs. Chance alone would not produce every combination in a reasonable number of programs, so each program
/// is made around some cells of the coverage table, with random steps in between.
struct LawGenerator {
    private static let cellsPerProgram = 12

    /// How many programs it takes until each cell has been a target once.
    static var round: Int { (LawCoverage.cells.count + cellsPerProgram - 1) / cellsPerProgram }

    private var program: LawProgram
    private var random: SplitMix

    /// - Parameter cells: The target cells; by default the seed's share of all.
    static func program(_ seed: UInt64, aimingAt cells: [LawCoverage.Cell]? = nil) -> LawProgram {
        var generator = LawGenerator(seed)
        return generator.make(cells)
    }

    private init(_ seed: UInt64) {
        program = LawProgram(seed: seed)
        random = SplitMix(seed)
    }

    private mutating func make(_ cells: [LawCoverage.Cell]?) -> LawProgram {
        program.hasRealLoop = random.once(in: 2)
        program.endsAbruptly = random.once(in: 4)
        program.isMonitored = random.once(in: 2)
        for _ in 0..<random.below(3) { play(noise()) }
        for cell in cells?.prefix(LawGenerator.cellsPerProgram) ?? targets()[...] {
            aim(at: cell)
            if random.once(in: 3) { play(noise()) }
        }
        return program
    }

    /// In each round of programs each cell is a target once, in a random order.
    private func targets() -> [LawCoverage.Cell] {
        let number = Int(program.seed) - 1
        var order = SplitMix(UInt64(number / LawGenerator.round))
        let shuffled = LawCoverage.cells.shuffled(using: &order)
        let start = number % LawGenerator.round * LawGenerator.cellsPerProgram
        return Array(shuffled[start..<min(start + LawGenerator.cellsPerProgram, shuffled.count)])
    }

    // MARK: Parts

    private mutating func play(_ step: LawProgram.Step) { program.scripts[0].append(step) }

    private mutating func makeScript(_ steps: [LawProgram.Step]) -> Int {
        program.scripts.append(steps)
        return program.scripts.count - 1
    }

    private mutating func makeItem(_ kind: LawProgram.Kind, isDue: Bool = true) -> Int {
        program.items.append(.init(kind: kind, variant: random.below(1 << 11), isDue: isDue))
        return program.items.count - 1
    }

    private mutating func place(in loop: Int? = nil, common: Bool = true) -> LawProgram.Place {
        let modes = common ? LawProgram.modes + ["common"] : LawProgram.modes
        return .init(loop: loop ?? random.below(LawProgram.loops), mode: random.pick(modes))
    }

    /// Any step, on any item or loop.
    private mutating func noise() -> LawProgram.Step {
        if program.items.isEmpty || random.once(in: 8) { _ = makeItem(random.pick(LawProgram.Kind.allCases)) }
        let item = random.below(program.items.count)
        switch random.below(15) {
        case 0: return .post(place(), script: makeScript([]))
        case 12: return .withdraw
        case 14: return .pace(loop: random.below(LawProgram.loops), script: makeScript([]))
        case 13:
            let loop = random.below(LawProgram.loops)
            return .onEnd(loop: loop, script: makeScript([]), isCancelled: random.once(in: 2))
        case 1: return .place(item: item, modes: random.below(5), loop: random.below(LawProgram.loops))
        case 2, 3: return .operate(.run, item: item, place(common: false))
        default:
            let operation = random.pick(LawProgram.Operation.allCases)
            // Otherwise little would be left to happen.
            if operation == .endLoop, random.below(4) > 0 { return .operate(.trigger, item: item, place()) }
            return .operate(operation, item: item, place())
        }
    }

    // MARK: A cell

    /// Makes a program's steps that call the cell's operation on a new item from the cell's context.
    private mutating func aim(at cell: LawCoverage.Cell) {
        let item = makeItem(cell.kind, isDue: cell.context == .own || random.once(in: 2))
        // The loop whose callouts call the operation, and the item's loop.
        let caller = random.below(LawProgram.loops)
        var home = random.below(LawProgram.loops)
        if cell.operation == .endLoop {
            // A loop that does not run, and not the thread's own.
            home = caller == 1 ? 2 : caller == 2 ? 1 : 1 + random.below(2)
        }
        var steps: [LawProgram.Step] = [
            .place(item: item, modes: cell.modes, loop: home),
            .operate(cell.operation, item: item, place(in: random.once(in: 4) ? nil : home)),
        ]
        if cell.operation.concernsLoop {
            steps[1] = .operate(cell.operation, item: item, place(in: home, common: false))
        }
        for _ in 0..<random.below(2) { steps.append(noise()) }
        if cell.context == .main { return steps.forEach { play($0) } }
        let script = makeScript(steps)
        let stage = place(in: caller, common: false)
        switch cell.context {
        case .main: break
        case .own:
            if cell.kind == .source0, random.once(in: 3) {
                program.items[item].scheduleScripts = [script]
                return play(.operate(.add, item: item, stage))
            }
            callOut(of: item, to: script, at: stage)
        case .source:
            let kinds: [LawProgram.Kind] = [
                .source0, .portSource, .messagePort, .borrowedDescriptor, .ownedDescriptor, .signal, .folder,
                .connection,
            ]
            callOut(of: makeItem(random.pick(kinds)), to: script, at: stage)
        case .timer:
            let kinds: [LawProgram.Kind] = [.timer, .continuousTimer, .wallClockTimer]
            callOut(of: makeItem(random.pick(kinds)), to: script, at: stage)
        case .observer: callOut(of: makeItem(.observer), to: script, at: stage)
        case .block:
            play(.post(stage, script: script))
            if random.once(in: 2) {
                play(.post(stage, script: makeScript([])))
                program.scripts[script].append(.withdraw)
            }
            play(.operate(.run, item: item, stage))
        case .action:
            // Another loop, in virtual time. What exceeds the burst waits for the next runs.
            let paced = home == 1 ? 2 : 1
            for _ in 0..<random.below(4) { play(.pace(loop: paced, script: makeScript([]))) }
            play(.pace(loop: paced, script: script))
            for _ in 0..<2 {
                play(.operate(.run, item: item, .init(loop: paced, mode: random.pick(LawProgram.modes))))
            }
        case .schedule, .cancel:
            let source = makeItem(.source0)
            if cell.context == .schedule {
                program.items[source].scheduleScripts = [script]
            } else {
                program.items[source].cancelScripts = [script]
            }
            play(.operate(.add, item: source, stage))
            if cell.context == .cancel {
                play(.operate(random.once(in: 2) ? .remove : .invalidate, item: source, stage))
            }
        case .endHandler:
            // Another loop, which can be ended.
            let ending = home == 1 ? 2 : 1
            play(.onEnd(loop: ending, script: script, isCancelled: false))
            play(.operate(.endLoop, item: item, .init(loop: ending, mode: "default")))
        }
    }

    private mutating func callOut(of item: Int, to script: Int, at stage: LawProgram.Place) {
        program.items[item].scripts = [script]
        program.items[item].hasHandlerAtFirst = true
        play(.operate(.add, item: item, stage))
        // An observer keeps no run going.
        if program.items[item].kind == .observer { play(.post(stage, script: makeScript([]))) }
        if !program.items[item].kind.isTimer { play(.operate(.trigger, item: item, stage)) }
        // A pass serves one port, and others may be ready too.
        for _ in 0..<2 { play(.operate(.run, item: item, stage)) }
    }
}
