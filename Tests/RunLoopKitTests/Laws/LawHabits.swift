/// Sequences of steps that programs have, and that random ones lack: each meets a mistake that no other step shows.
extension LawGenerator {
    mutating func habit() -> [LawProgram.Step] {
        switch random.below(10) {
        case 0: signalInHostedPass()
        case 1: removalInScheduleHandler()
        case 2: callsAfterFlush()
        case 3, 4: tolerantTimers()
        case 5: postBeforeThirdRun()
        case 6: signalBeforeJoining()
        case 7: signalsBeforeAdding()
        default: []
        }
    }

    /// A callout in one of a host's passes, often the last one, signals a source of the mode, and wakes nobody.
    private mutating func signalInHostedPass() -> [LawProgram.Step] {
        let place = place(common: false)
        let source = makeItem(.source0)
        program.items[source].wakesNobody()
        let kinds: [LawProgram.Kind] = [.timer, .portSource, .messagePort, .borrowedDescriptor, .observer]
        let script = makeScript([.operate(.trigger, item: source, place)])
        let caller = callout(of: makeItem(random.pick(kinds)), playing: script, at: place)
        return [.operate(.add, item: source, place)] + hosted(caller, Stage(caller: place, home: place.loop))
    }

    /// A source is told that it is in a mode, and meanwhile another thread removes it.
    private mutating func removalInScheduleHandler() -> [LawProgram.Step] {
        let place = place(common: false)
        let source = makeItem(.source0)
        program.items[source].scheduleScripts = [makeScript([.elsewhere(.operate(.remove, item: source, place))])]
        return [.operate(.add, item: source, place)]
    }

    /// A callout of a nested run posts a block for the outermost one, and begins a third run. That takes the wake-up.
    private mutating func postBeforeThirdRun() -> [LawProgram.Step] {
        let outer = place(common: false)
        let others = LawProgram.modes.filter { $0 != outer.mode }.map { LawProgram.Place(loop: outer.loop, mode: $0) }
        let (inner, innermost) = (random.pick(others), random.pick(others))
        let call = makeScript([.post(outer, script: makeScript([])), .lapse(innermost)])
        let kinds: [LawProgram.Kind] = [.timer, .portSource, .messagePort, .borrowedDescriptor]
        let begin = callout(of: makeItem(random.pick(kinds)), playing: call, at: inner).dropLast(2)
        return [.post(outer, script: makeScript(begin + [.lapse(inner)])), .lapse(outer)]
    }

    /// A source of `common` is signalled in a run of another mode, which takes the wake-up. Later its modes are looked
    /// up.
    private mutating func signalBeforeJoining() -> [LawProgram.Step] {
        let source = makeItem(.source0)
        program.items[source].variant |= LawProgram.Item.silentBit | LawProgram.Item.wakingBit
        program.items[source].hasHandlerAtFirst = true
        var place = place(common: false)
        func step(_ operation: LawProgram.Operation, in mode: String) -> LawProgram.Step {
            .operate(operation, item: source, .init(loop: place.loop, mode: mode))
        }
        place.mode = random.pick(["b", "c"])
        let steps = [step(.add, in: "common"), step(.trigger, in: "common"), .lapse(place)]
        return [step(.addCommonMode, in: "a"), .post(place, script: makeScript(steps)), .lapse(place)]
    }

    /// A source is signalled several times, not always with a wake-up, before a loop has it.
    private mutating func signalsBeforeAdding() -> [LawProgram.Step] {
        let (source, place) = (makeItem(.source0), place())
        program.items[source].variant |= LawProgram.Item.wakingBit
        program.items[source].hasHandlerAtFirst = true
        let signal = LawProgram.Step.operate(.trigger, item: source, place)
        return Array(repeating: signal, count: 2 + random.below(3)) + [.operate(.add, item: source, place)]
    }

    /// Timers that can wait for each other, and changes of their times, also by one of them.
    private mutating func tolerantTimers() -> [LawProgram.Step] {
        let place = place(in: 1 + random.below(2), common: false)
        let timers = (0..<2 + random.below(4)).map { _ in makeShortTimer() }
        func change() -> LawProgram.Step {
            let changes: [LawProgram.Operation] = [.setTolerance, .setTolerance, .retime, .remove, .readd]
            return .operate(random.pick(changes), item: random.pick(timers), place)
        }
        if random.once(in: 2) {
            let script = makeScript([random.once(in: 2) ? change() : .lapse(place)])
            program.items[timers[0]].scripts = [script]
        }
        var steps = timers.map { LawProgram.Step.operate(.add, item: $0, place) }
        for _ in 0..<5 {
            steps.append(random.once(in: 2) ? .lapse(place) : .operate(.run, item: timers[0], place))
            if random.once(in: 2) { steps.append(change()) }
        }
        return steps
    }

    private mutating func makeShortTimer() -> Int {
        let timer = makeItem(random.pick([.timer, .continuousTimer, .wallClockTimer]))
        program.items[timer].hasHandlerAtFirst = true
        func time(_ most: Int) -> Duration { .microseconds(10 * random.below(most)) }
        program.items[timer].times = .init(delay: time(20), interval: time(20) + .microseconds(20), tolerance: time(15))
        return timer
    }

    /// A limiter is flushed long after its last call, and called shortly after the flush.
    private mutating func callsAfterFlush() -> [LawProgram.Step] {
        let place = place(in: 1 + random.below(2), common: false)
        let kind = random.pick(LawProgram.Kind.limiters)
        let script = makeScript([])
        let call = LawProgram.Step.limit(kind, .call, loop: place.loop, script: script)
        // A delayed block lets the time go on: a limiter with nothing pending does not.
        let delay = LawProgram.Step.postLater(place, script: makeScript([]), isFar: true)
        let flush = LawProgram.Step.limit(kind, .flush, loop: place.loop, script: script)
        return [delay, call, call, .lapse(place), flush, .lapse(place), call]
    }
}
