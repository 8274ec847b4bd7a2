/// Targets that are no items: blocks and limiters.
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
        // With the same key.
        while program.scripts.count % 2 != script % 2 { _ = makeScript([]) }
        let own = makeScript(steps)
        play(.limit(kind, .call, loop: home, script: own))
        play(.limit(kind, .flush, loop: home, script: own))
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
