import TestSupport

/// Makes programs. Chance alone would not produce every combination in a reasonable number of programs, so each program
/// is made around some cells of the coverage table, with random steps in between.
struct LawGenerator {
    private static let cellsPerProgram = 16

    /// How many programs it takes until each cell has been a target once.
    static var round: Int { (LawCoverage.cells.count + cellsPerProgram - 1) / cellsPerProgram }

    var program: LawProgram
    var random: SplitMix

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
        habit().forEach { play($0) }
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

    mutating func play(_ step: LawProgram.Step) { program.scripts[0].append(step) }

    mutating func makeScript(_ steps: [LawProgram.Step]) -> Int {
        program.scripts.append(steps)
        return program.scripts.count - 1
    }

    mutating func makeItem(_ kind: LawProgram.Kind, isDue: Bool = true) -> Int {
        program.items.append(.init(kind: kind, variant: random.below(1 << 11), isDue: isDue))
        return program.items.count - 1
    }

    mutating func place(in loop: Int? = nil, common: Bool = true) -> LawProgram.Place {
        let modes = common ? LawProgram.modes + ["common"] : LawProgram.modes
        return .init(loop: loop ?? random.below(LawProgram.loops), mode: random.pick(modes))
    }

    /// Any step, on any item or loop.
    mutating func noise() -> LawProgram.Step {
        if program.items.isEmpty || random.once(in: 8) { _ = makeItem(random.pick(LawProgram.Kind.items)) }
        let item = random.below(program.items.count)
        switch random.below(20) {
        case 0: return .post(place(), script: makeScript([]))
        case 12: return .withdraw(script: nil)
        case 17: return .postLater(place(), script: makeScript([]), isFar: random.once(in: 4))
        case 18:
            let operation = random.pick([LawProgram.Operation.call, .call, .call, .flush, .cancel])
            return .limit(
                random.pick(LawProgram.Kind.limiters), operation, loop: 1 + random.below(2), script: makeScript([]))
        case 19: return quota(random.pick(LawProgram.Operation.ofQuotas), loop: 1 + random.below(2), makeScript([]))
        case 15: return .host(place(common: false))
        case 16: return .elsewhere(noise())
        case 14: return .pace(loop: random.below(LawProgram.loops), script: makeScript([]))
        case 13:
            let loop = random.below(LawProgram.loops)
            return .onEnd(loop: loop, script: makeScript([]), isCancelled: random.once(in: 2))
        case 1: return .place(item: item, modes: random.below(5), loop: random.below(LawProgram.loops))
        case 2, 3: return .operate(.run, item: item, place(common: false))
        default:
            let operation = random.pick(LawProgram.Operation.ofItems)
            // Otherwise little would be left to happen.
            if operation == .endLoop, random.below(4) > 0 { return .operate(.trigger, item: item, place()) }
            return .operate(operation, item: item, place())
        }
    }

    // MARK: A cell

    /// Makes a program's steps that call the cell's operation on a new item in the cell's state, from its context.
    private mutating func aim(at cell: LawCoverage.Cell) {
        switch cell.operation.subject {
        case .item: aim(atItem: cell)
        case .block: aim(atBlock: cell)
        case .limiter: aim(atLimiter: cell)
        case .quota: aim(atQuota: cell)
        }
    }

    private mutating func aim(atItem cell: LawCoverage.Cell) {
        let item = makeItem(pickKind(for: cell), isDue: cell.needsCallout || random.once(in: 2))
        if cell.state == .withoutHandler { program.items[item].variant |= LawProgram.Item.lateBit }
        let stage = stage(for: cell)
        let isElsewhere = cell.context == .otherThread
        let operation = LawProgram.Step.operate(cell.operation, item: item, place(of: cell, stage))
        var steps = preparation(of: item, for: cell.state, stage) + [isElsewhere ? .elsewhere(operation) : operation]
        for _ in 0..<random.below(2) { steps.append(noise()) }
        var inner = stage
        if cell.state == .inItsCallout, !isElsewhere { inner.depth = 1 }
        switch cell.context {
        case .otherThread where cell.state.isInProgress: break
        case .otherThread where random.once(in: 2):
            steps = self.steps(playing: steps, from: .another, of: item, inner)
        case .otherThread, .main: break
        case .own where cell.state.isInProgress: break
        case .host where cell.state == .inItsCallout: break
        default: steps = self.steps(playing: steps, from: cell.context, of: item, inner)
        }
        if cell.state.isInProgress { steps = self.steps(playing: steps, while: cell.state, of: item, stage) }
        if cell.context == .host, cell.state == .inItsCallout { steps = hosted(steps, stage) }
        steps.forEach { play($0) }
    }

    /// Mostly a source for what another thread does in a callout: it has one as it joins, too.
    private mutating func pickKind(for cell: LawCoverage.Cell) -> LawProgram.Kind {
        let isShort = cell.state == .inItsCallout && cell.context == .otherThread
        return isShort && cell.kinds.contains(.source0) && random.once(in: 2) ? .source0 : random.pick(cell.kinds)
    }

    private mutating func stage(for cell: LawCoverage.Cell) -> Stage {
        let caller = random.below(LawProgram.loops)
        var home = random.below(LawProgram.loops)
        if cell.operation == .endLoop {
            // A loop that does not run, and not the thread's own.
            home = caller == 1 ? 2 : caller == 2 ? 1 : 1 + random.below(2)
        }
        return Stage(caller: place(in: caller, common: false), home: home)
    }

    private mutating func place(of cell: LawCoverage.Cell, _ stage: Stage) -> LawProgram.Place {
        if cell.operation.concernsLoop { return place(in: stage.home, common: false) }
        return place(in: random.once(in: 4) ? nil : stage.home)
    }
}

extension LawCoverage.Cell {
    /// Whether the item itself is to be called.
    fileprivate var needsCallout: Bool { context == .own || state.isInProgress }
}
