/// Sequences of steps that programs have, and that random ones lack: each meets a mistake that no other step shows.
extension LawGenerator {
    mutating func habit() -> [LawProgram.Step] {
        switch random.below(8) {
        case 0: signalInHostedPass()
        case 1: removalInScheduleHandler()
        case 2: callsAfterFlush()
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
