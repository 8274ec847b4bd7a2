/// Targets that are no items: blocks, limiters and quotas.
extension LawGenerator {
    mutating func aim(atBlock cell: LawCoverage.Cell) {
        let kind = random.pick(cell.kinds)
        let place = place()
        let script = makeScript([])
        let post: LawProgram.Step =
            kind == .block
            ? .post(place, script: script)
            : .postLater(place, script: script, isFar: cell.context != .own && random.once(in: 2))
        let withdraw = LawProgram.Step.withdraw(script: script)
        if cell.context == .own {
            program.scripts[script] = [withdraw]
            let item = makeItem(.source0)
            play(post)
            return play(.operate(.run, item: item, .init(loop: place.loop, mode: mode(of: place))))
        }
        let isElsewhere = cell.context == .otherThread
        var steps: [LawProgram.Step] = []
        if cell.operation == .withdraw {
            steps.append(post)
            if cell.state == .notWaiting { steps.append(withdraw) }
        }
        let operation = cell.operation == .post ? post : withdraw
        steps.append(isElsewhere ? .elsewhere(operation) : operation)
        play(steps, for: cell, Stage(caller: self.place(common: false), home: place.loop))
    }

    private func mode(of place: LawProgram.Place) -> String { place.mode == "common" ? "default" : place.mode }

    mutating func aim(atLimiter cell: LawCoverage.Cell) {
        let kind = random.pick(cell.kinds)
        let home = 1 + random.below(2)
        let script = makeScript([])
        func step(_ operation: LawProgram.Operation) -> LawProgram.Step {
            .limit(kind, operation, loop: home, script: script)
        }
        // A throttle acts on the first call at once.
        let preparation = cell.state == .waiting ? [step(.call), step(.call)] : [step(.call), step(.flush)]
        let operation = step(cell.operation)
        // A flush here acts on what another thread hands over.
        let steps =
            preparation + (cell.context == .otherThread ? [.elsewhere(operation), step(.flush)] : [operation])
        guard cell.context == .own else {
            return play(steps, for: cell, Stage(caller: place(common: false), home: home))
        }
        let own = makeScript(steps, withKeyOf: script)
        play(.limit(kind, .call, loop: home, script: own))
        play(.limit(kind, .flush, loop: home, script: own))
    }

    mutating func quota(_ operation: LawProgram.Operation, loop: Int, _ script: Int) -> LawProgram.Step {
        .quota(operation, loop: loop, script: script, cost: random.pick([1, 1, 1, 0, 2, LawQuota.burst + 1]))
    }

    mutating func aim(atQuota cell: LawCoverage.Cell) {
        let home = 1 + random.below(2)
        let script = makeScript([])
        let steps = preparation(of: script, for: cell.state, home)
        let operation = quota(cell.operation, loop: home, script)
        let play = steps + [cell.context == .otherThread ? .elsewhere(operation) : operation]
        guard cell.context == .own else {
            return self.play(play, for: cell, Stage(caller: place(common: false), home: home))
        }
        self.play(.quota(.reset, loop: home, script: script, cost: 0))
        let own = makeScript(play, withKeyOf: script)
        self.play(.quota(.take, loop: home, script: own, cost: 1))
        forgetting(own, home).forEach { self.play($0) }
    }

    /// The steps that bring the quota of the script's key into a state.
    private func preparation(of script: Int, for state: LawProgram.State, _ loop: Int) -> [LawProgram.Step] {
        let full = LawProgram.Step.quota(.reset, loop: loop, script: script, cost: 0)
        func less(_ operation: LawProgram.Operation, _ cost: Int) -> [LawProgram.Step] {
            [full, .quota(operation, loop: loop, script: script, cost: cost)]
        }
        switch state {
        case .used: return less(.take, 1)
        case .exhausted: return less(.take, LawQuota.burst)
        case .owing: return less(.reserve, LawQuota.burst + 2)
        default: return [full]
        }
    }

    /// The steps after which a quota has forgotten the key of a script.
    private mutating func forgetting(_ script: Int, _ loop: Int) -> [LawProgram.Step] {
        switch random.below(3) {
        case 0: return [.quota(.reset, loop: loop, script: script, cost: 0)]
        case 1: return [.quota(.resetAll, loop: loop, script: script, cost: 0)]
        default:
            // Until it is full. A delayed block lets the time go on.
            let place = place(in: loop, common: false)
            let delay = LawProgram.Step.postLater(place, script: makeScript([]), isFar: true)
            let calls = (1..<LawQuota.keys).map { other in
                LawProgram.Step.quota(.take, loop: loop, script: script + other, cost: 1)
            }
            return [delay] + Array(repeating: .lapse(place), count: 4) + calls
        }
    }

    /// A script with the same key as another one in a limiter, or a quota.
    private mutating func makeScript(_ steps: [LawProgram.Step], withKeyOf script: Int) -> Int {
        while (program.scripts.count - script) % (2 * LawQuota.keys) != 0 { _ = makeScript([]) }
        return makeScript(steps)
    }

    private mutating func play(_ steps: [LawProgram.Step], for cell: LawCoverage.Cell, _ stage: Stage) {
        let item = makeItem(.source0)
        var steps = steps
        switch cell.context {
        case .otherThread where random.once(in: 2): steps = self.steps(playing: steps, from: .another, of: item, stage)
        case .otherThread: break
        default: steps = self.steps(playing: steps, from: cell.context, of: item, stage)
        }
        steps.forEach { play($0) }
    }
}
