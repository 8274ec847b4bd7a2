/// The steps that make a program play a script from a given context.
extension LawGenerator {
    /// The loops of a target.
    struct Stage {
        /// Its callouts call the operation.
        var caller: LawProgram.Place
        /// The item's loop.
        var home: Int
        /// Runs that are around the script already.
        var depth = 0

        /// A loop in virtual time that neither is the item's nor runs.
        var other: Int { home != 1 && (depth == 0 || caller.loop != 1) ? 1 : 2 }
    }

    /// The steps that play `steps` from a context, for an item.
    mutating func steps(
        playing steps: [LawProgram.Step], from context: LawProgram.Context, of item: Int, _ stage: Stage
    ) -> [LawProgram.Step] {
        switch context {
        case .main: return steps
        case .own: return calloutOf(item, playing: steps, stage)
        case .source:
            let kinds: [LawProgram.Kind] = [
                .source0, .portSource, .messagePort, .borrowedDescriptor, .ownedDescriptor, .signal, .folder,
                .connection,
            ]
            return callout(of: makeItem(random.pick(kinds)), playing: makeScript(steps), at: stage.caller)
        case .timer:
            let kinds: [LawProgram.Kind] = [.timer, .continuousTimer, .wallClockTimer]
            return callout(of: makeItem(random.pick(kinds)), playing: makeScript(steps), at: stage.caller)
        case .observer: return callout(of: makeItem(.observer), playing: makeScript(steps), at: stage.caller)
        case .block: return block(playing: makeScript(steps), item, stage)
        case .action: return action(playing: makeScript(steps), item, stage)
        case .deinit: return release(playing: makeScript(steps), stage)
        case .schedule, .cancel: return notification(context, playing: makeScript(steps), stage)
        case .endHandler: return endHandler(playing: makeScript(steps), item, stage)
        case .another:
            // In a callout no other loop is sure to be one that can be ended or called.
            let callers = stage.depth > 0 ? LawProgram.Context.others.dropLast(2) : LawProgram.Context.others[...]
            return self.steps(playing: steps, from: random.pick(Array(callers)), of: item, stage)
        case .nested: return run(steps, depth: 2, of: item, stage)
        case .third: return run(steps, depth: 3, of: item, stage)
        case .otherThread: return steps.map { .elsewhere($0) }
        case .host: return hosted(anyCallout(of: item, playing: steps, stage), stage)
        }
    }

    /// The innermost of some runs of the same loop calls the steps.
    private mutating func run(
        _ steps: [LawProgram.Step], depth: Int, of item: Int, _ stage: Stage
    ) -> [LawProgram.Step] {
        var steps = steps
        for level in (stage.depth..<depth).reversed() {
            steps = anyCallout(of: item, playing: steps, stage)
            // What is left over is for the runs outside, of which some are to end.
            if level > 0, random.once(in: 2) { steps.append(noise()) }
            if level > 0, random.once(in: 4) { steps.insert(.operate(.stop, item: item, stage.caller), at: 0) }
        }
        return steps
    }

    private mutating func anyCallout(of item: Int, playing steps: [LawProgram.Step], _ stage: Stage)
        -> [LawProgram.Step]
    {
        let callers: [LawProgram.Context] = [.source, .source, .timer, .observer, .block]
        return self.steps(playing: steps, from: random.pick(callers), of: item, stage)
    }

    /// With a host in place of the last runs.
    func hosted(_ steps: [LawProgram.Step], _ stage: Stage) -> [LawProgram.Step] {
        steps.map { step in
            if case .operate(.run, _, let place) = step, place.loop == stage.caller.loop { .host(place) } else { step }
        }
    }

    // MARK: The callers

    private mutating func calloutOf(_ item: Int, playing steps: [LawProgram.Step], _ stage: Stage)
        -> [LawProgram.Step]
    {
        let script = makeScript(steps)
        let isLate = program.items[item].isLate
        if program.items[item].kind == .source0, isLate || random.once(in: 3) {
            program.items[item].scheduleScripts = [script]
            return [.operate(.add, item: item, stage.caller)]
        }
        return callout(of: item, playing: script, at: stage.caller)
    }

    mutating func callout(of item: Int, playing script: Int, at place: LawProgram.Place)
        -> [LawProgram.Step]
    {
        program.items[item].scripts = [script]
        program.items[item].hasHandlerAtFirst = true
        var steps: [LawProgram.Step] = [.operate(.add, item: item, place)]
        // An observer keeps no run going.
        if program.items[item].kind == .observer { steps.append(.post(place, script: makeScript([]))) }
        if !program.items[item].kind.isTimer { steps.append(.operate(.trigger, item: item, place)) }
        // A pass serves one port, and others may be ready too.
        for _ in 0..<2 { steps.append(.operate(.run, item: item, place)) }
        return steps
    }

    private mutating func block(playing script: Int, _ item: Int, _ stage: Stage) -> [LawProgram.Step] {
        var steps: [LawProgram.Step] = [.post(stage.caller, script: script)]
        if random.once(in: 2) {
            steps.append(.post(stage.caller, script: makeScript([])))
            program.scripts[script].append(
                random.once(in: 2) ? .withdraw(script: nil) : .elsewhere(.withdraw(script: nil)))
        }
        return steps + [.operate(.run, item: item, stage.caller)]
    }

    private mutating func action(playing script: Int, _ item: Int, _ stage: Stage) -> [LawProgram.Step] {
        // Another loop, in virtual time. What exceeds the burst waits for the next runs.
        let paced = stage.other
        var steps: [LawProgram.Step] = []
        for _ in 0..<random.below(4) { steps.append(.pace(loop: paced, script: makeScript([]))) }
        steps.append(.pace(loop: paced, script: script))
        for _ in 0..<2 {
            steps.append(.operate(.run, item: item, .init(loop: paced, mode: random.pick(LawProgram.modes))))
        }
        return steps
    }

    private mutating func notification(_ context: LawProgram.Context, playing script: Int, _ stage: Stage)
        -> [LawProgram.Step]
    {
        let source = makeItem(.source0)
        if context == .schedule {
            program.items[source].scheduleScripts = [script]
            return [.operate(.add, item: source, stage.caller)]
        }
        program.items[source].cancelScripts = [script]
        return [
            .operate(.add, item: source, stage.caller),
            .operate(random.once(in: 2) ? .remove : .invalidate, item: source, stage.caller),
        ]
    }

    /// What a block or another item's handler has captured is released.
    private mutating func release(playing script: Int, _ stage: Stage) -> [LawProgram.Step] {
        random.once(in: 4) ? releaseOfBlock(playing: script, stage) : releaseOfHandler(playing: script, stage)
    }

    /// After the block's call, or as it is withdrawn.
    private mutating func releaseOfBlock(playing script: Int, _ stage: Stage) -> [LawProgram.Step] {
        let block = makeScript([])
        program.releaseScripts[block] = script
        let isDelayed = random.once(in: 2)
        let post: LawProgram.Step =
            isDelayed ? .postLater(stage.caller, script: block, isFar: false) : .post(stage.caller, script: block)
        let run = LawProgram.Step.operate(.run, item: makeItem(.source0), stage.caller)
        return [post, random.once(in: 2) ? .withdraw(script: block) : run]
    }

    /// The handler is replaced, or its item is invalidated, called once or dropped.
    private mutating func releaseOfHandler(playing script: Int, _ stage: Stage) -> [LawProgram.Step] {
        let isOneShot = random.once(in: 4)
        let kinds = isOneShot ? [.timer, .continuousTimer, .observer] : LawProgram.Kind.items.filter { !$0.isProcess }
        let other = makeItem(random.pick(kinds))
        program.items[other].releaseScripts = [script]
        program.items[other].hasHandlerAtFirst = true
        if isOneShot {
            program.items[other].variant &= ~1
            return callout(of: other, playing: makeScript([]), at: stage.caller)
        }
        func step(_ operation: LawProgram.Operation) -> LawProgram.Step {
            .operate(operation, item: other, stage.caller)
        }
        switch random.below(4) {
        case 0: return [step(.add), step(.setHandler)]
        case 1: return [step(.add), step(.drop), step(.remove)]
        default: return [step(.add), step(.invalidate)]
        }
    }

    private func endHandler(playing script: Int, _ item: Int, _ stage: Stage) -> [LawProgram.Step] {
        // Another loop, which can be ended.
        let ending = stage.other
        return [
            .onEnd(loop: ending, script: script, isCancelled: false),
            .operate(.endLoop, item: item, .init(loop: ending, mode: "default")),
        ]
    }

    // MARK: States

    /// The steps that bring an item into a state, which are played just before the operation.
    mutating func preparation(of item: Int, for state: LawProgram.State, _ stage: Stage) -> [LawProgram.Step] {
        let place = place(in: stage.home)
        let isPlaced = LawProgram.Step.place(item: item, modes: 1 + random.below(2), loop: stage.home)
        switch state {
        case .disarmed: return [isPlaced, .operate(.disarm, item: item, place)]
        case .invalid: return [isPlaced, .operate(.invalidate, item: item, place)]
        case .dropped: return [isPlaced, .operate(.drop, item: item, place)]
        case .withoutHandler, .inItsCallout: return [isPlaced]
        case .beingInvalidated: return []
        default: return [.place(item: item, modes: state.modes!, loop: stage.home)]
        }
    }

    /// The steps that play others while the item is called, or invalidated.
    mutating func steps(
        playing steps: [LawProgram.Step], while state: LawProgram.State, of item: Int, _ stage: Stage
    ) -> [LawProgram.Step] {
        guard state == .beingInvalidated else { return calloutOf(item, playing: steps, stage) }
        program.items[item].cancelScripts = [makeScript(steps)]
        return [.operate(.add, item: item, stage.caller), .operate(.invalidate, item: item, stage.caller)]
    }
}
