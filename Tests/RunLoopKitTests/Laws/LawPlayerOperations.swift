@testable import RunLoopKit

/// Operations that change the model, each together with the items and loops.
extension LawPlayer {
    /// Returns false if the item or its loop was deallocated.
    @discardableResult
    func add(_ item: LawItem, to loop: LawLoop, _ mode: String) -> Bool {
        guard let actual = item.item, let target = loop.loop else { return false }
        let isAccepted =
            item.isValid && !loop.isEnding && (item.kind.isShared || item.loops.isSubset(of: [loop.number]))
        var joined: [String] = []
        if isAccepted {
            joined = mode == "common" ? loop.commonModes : [mode]
            if mode == "common", item.commons.insert(loop.number).inserted { item.joinedCommon = nextJoin() }
            joined = joined.filter { item.join(loop.place($0)) }
            if !joined.isEmpty { item.hasLostItsLoop = false }
        }
        if !joined.isEmpty { item.becomeDue(in: loop) }
        let answer = during([item]) { target.add(actual, in: Loop.Mode(mode)) }
        expect(answer == isAccepted, "\(item) added to \(mode): \(answer)")
        if !joined.isEmpty, isOutside, item.hasWakingSignal, item.plan.scheduleScripts.isEmpty {
            expect(target.waker.hasNote, "\(item) is signalled, and wakes no loop as it joins")
        }
        if !item.isValid {
            let modes = target.modes
            target.add(actual, in: "made by an invalid item")
            expect(target.modes == modes, "\(item) is invalid, and has made a mode")
        }
        return true
    }

    func remove(_ item: LawItem, from loop: LawLoop, _ mode: String) {
        guard let actual = item.item, let target = loop.loop else { return }
        if mode != "common" {
            item.places.remove(loop.place(mode))
        } else if item.commons.remove(loop.number) != nil {
            item.places.subtract(loop.commonModes.map(loop.place))
        }
        during([item]) { target.remove(actual, in: Loop.Mode(mode)) }
    }

    func invalidate(_ item: LawItem) {
        guard let actual = item.item else { return }
        item.leaving.formUnion(item.places)
        item.becomeInvalid()
        item.invalidationsInProgress += 1
        during([item]) { actual.invalidate() }
        item.invalidationsInProgress -= 1
        if item.operationsInProgress == 0 { item.leaving = [] }
    }

    func addCommonMode(_ mode: String, to loop: LawLoop) {
        guard mode != "common", !loop.commonModes.contains(mode), !loop.isEnding, let target = loop.loop else { return }
        loop.commonModes.append(mode)
        monitor.newCommonModes.insert(Loop.Mode(mode))
        let concerned = items.filter { $0.commons.contains(loop.number) }
        for item in concerned.sorted(by: { $0.joinedCommon < $1.joinedCommon }) { item.join(loop.place(mode)) }
        during(concerned) { target.addCommonMode(Loop.Mode(mode)) }
    }

    @discardableResult
    func end(_ loop: LawLoop) -> Bool {
        guard !isElsewhere, !loop.isReal, !loop.isEnding, loop.loop?.currentMode == nil else { return false }
        loop.isEnding = true
        let slot = loops.firstIndex { $0 === loop }!
        let concerned = items.filter { $0.loops.contains(loop.number) }
        for item in concerned {
            let isInMode = item.places.contains { $0.loop == loop.number }
            item.places = item.places.filter { $0.loop != loop.number }
            item.commons.remove(loop.number)
            // Unless it is added again meanwhile.
            if item.kind == .messagePort, isInMode { item.hasLostItsLoop = true }
        }
        during(concerned) { loop.loop!.end() }
        loop.release()
        endedLoops.append(loop)
        if !isGoingQuiet { loops[slot] = makeLoop(slot) }
        return true
    }

    @discardableResult
    func during<Result>(_ concerned: [LawItem], _ body: () -> Result) -> Result {
        for item in concerned {
            item.operationsInProgress += 1
            item.isTouched()
        }
        defer { for item in concerned { item.operationsInProgress -= 1 } }
        return body()
    }

    // MARK: Running and posting

    func run(_ loop: LawLoop, _ mode: String) -> Bool {
        let polls = loop.isReal ? stepsLeft % 4 > 0 : stepsLeft % 2 > 0
        return run(loop, mode, for: polls ? .zero : .milliseconds(1))
    }

    func run(_ loop: LawLoop, _ mode: String, for duration: Duration) -> Bool {
        guard !isElsewhere, runs.count < 4, !loop.isEnding, mode != "common" else { return false }
        runs.append(loop)
        _ = loop.run(mode, for: duration, returnAfterSourceHandled: stepsLeft % 5 == 0)
        runs.removeLast()
        return true
    }

    /// A host of the loop, as long as there is something to do.
    func host(_ loop: LawLoop, _ mode: String) {
        guard !isElsewhere, runs.count < 4, !loop.isEnding, mode != "common", loop.loop?.currentMode == nil else {
            return
        }
        runs.append(loop)
        loop.host(mode, asks: stepsLeft % 2 == 0) {
            guard violation == nil, let rest = unfinished(loop, mode, isServed: true) else { return }
            expect(false, "the host of \(loop.number) may sleep in \(mode), and \(rest) waits")
        }
        runs.removeLast()
    }

    func pace(_ loop: LawLoop, _ script: Int) {
        // What another thread calls acts later.
        guard !isElsewhere, !loop.isReal, !loop.isEnding else { return }
        let queue = loop.queue ?? LawQueue(on: loop, self)
        loop.queue = queue
        queue.call(script)
    }

    func quota(_ operation: LawProgram.Operation, _ loop: LawLoop, _ script: Int, _ cost: Int) {
        guard !loop.isReal, !loop.isEnding, let actual = loop.loop else { return }
        let quota = loop.quota ?? LawQuota(on: actual, self)
        loop.quota = quota
        coverage.count(operation, .keyedQuota, [quota.state(of: script)], contexts(for: quota))
        withExtendedLifetime(actual) { quota.operate(operation, script, cost) }
    }

    func limit(_ kind: LawProgram.Kind, _ operation: LawProgram.Operation, _ loop: LawLoop, _ script: Int) {
        guard !loop.isReal, !loop.isEnding, let actual = loop.loop else { return }
        if isElsewhere, loop.limiters[kind] == nil { return }
        let limiter = loop.limiters[kind] ?? LawLimiter(kind, on: loop, self)
        loop.limiters[kind] = limiter
        let state = limiter.isPending(script) ? LawProgram.State.waiting : .notWaiting
        coverage.count(operation, kind, [state], contexts(for: limiter))
        withExtendedLifetime(actual) { limiter.operate(operation, script) }
    }
}
