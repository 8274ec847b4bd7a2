import ConformanceSupport

/// Plays a program on a stage.
final class RandomProgramPlayer {
    /// The questions that a player asks of the loop, beside those of the program.
    enum Questions {
        /// Those that keep the documented differences from CFRunLoop out.
        case few
        case none
        /// All that there are, before each step.
        case all
    }

    let program: RandomProgram
    let stage: Stage
    let questions: Questions
    var items: [any Item] = []
    var calls: [Int]
    var guards: [any Item] = []
    /// The timers whose callouts are active, each with the mode in which it fires.
    var firing: [(item: Int, mode: String)] = []
    /// The timers that their own callouts, which are active, have given a new time.
    var retimed: Set<Int> = []
    /// The ports that have been sent to since they were last served.
    var pending: Set<Int> = []
    /// The ports that have been served while they were in another mode as well.
    var servedElsewhere: Set<Int> = []
    var budget = 150
    var depth = 0

    init(_ program: RandomProgram, _ stage: Stage, asking questions: Questions = .few) {
        self.program = program
        self.stage = stage
        self.questions = questions
        calls = program.items.map { _ in 0 }
    }

    func play() {
        for index in program.items.indices { items.append(make(index)) }
        for mode in RandomProgram.modes {
            if program.observedModes.contains(mode) { stage.observe(mode) }
            // In virtual time a run sleeps until its end.
            if program.flavour != .everything { guards.append(makeGuard(mode)) }
        }
        play(0)
    }

    /// No run may sleep: the last observer before the wait prevents it.
    private func makeGuard(_ mode: String) -> any Item {
        var port: (any Item)?
        if program.flavour == .ports {
            port = stage.port("guard \(mode)")
            stage.loop.add(port!, mode)
        }
        let observer = stage.loop.makeObserver(.beforeWaiting, repeats: true, order: 1000) { [unowned self] _, _ in
            if let port { port.send() } else { stage.loop.stop() }
        }
        stage.loop.add(observer, mode)
        return observer
    }

    private func make(_ index: Int) -> any Item {
        let then = { [unowned self] in
            let scripts = program.items[index].scripts
            calls[index] += 1
            if calls[index] <= scripts.count { play(scripts[calls[index] - 1]) }
        }
        switch program.items[index].kind {
        case .source0(let order, let logsModes):
            return stage.source0("\(index)", order: order, logsModes: logsModes, then: then)
        case .port:
            return stage.port("\(index)") { [unowned self] in
                if questions == .few, modes(of: index).count > 1 { servedElsewhere.insert(index) }
                then()
            }
        case .timer(let after, let every):
            return stage.timer("\(index)", after: after, every: every) { [unowned self] _ in
                firing.append((index, stage.loop.currentMode ?? ""))
                then()
                firing.removeLast()
                retimed.remove(index)
            }
        case .observer(let activities, let repeats, let order):
            return stage.observer("observer \(index)", activities, repeats: repeats, order: order) { _, _ in then() }
        }
    }

    private func play(_ script: Int) {
        for step in program.scripts[script] {
            budget -= 1
            if budget < 0 { return }
            if questions == .all { askEverything() }
            play(step)
        }
    }

    private func logTimes() {
        for mode in RandomProgram.modes {
            let next = stage.loop.secondsToNextTimer(in: mode).map { "\($0)" } ?? "none"
            stage.log("the next timer of \(mode): \(next)")
        }
        for (index, plan) in program.items.enumerated() {
            // RunLoopKit learns what time it is when the timer is added.
            guard case .timer = plan.kind, !modes(of: index).isEmpty else { continue }
            stage.log("timer \(index) fires in \(items[index].secondsToFire)")
        }
    }

    private func askEverything() {
        let loop = stage.loop!
        for mode in RandomProgram.modes + ["common"] {
            for item in items { _ = loop.contains(item, mode) }
            _ = loop.secondsToNextTimer(in: mode)
        }
        _ = (loop.modes, loop.currentMode, loop.isWaiting, "\(loop)")
        for (item, plan) in zip(items, program.items) {
            if case .timer = plan.kind { _ = item.secondsToFire }
        }
    }

    private func play(_ step: RandomProgram.Step) {
        let loop = stage.loop!
        switch step {
        case .add(let item, let mode):
            if questions == .few, retimed.contains(item) { return }
            loop.add(items[item], mode)
        case .remove(let item, let mode): loop.remove(items[item], mode)
        case .contains(let item, let mode):
            // CF may fail to remove a timer or an observer from "common" when it is in no other mode, or report that it
            // is not there.
            if questions == .few, mode == "common" { return }
            stage.log("\(item) in \(mode): \(loop.contains(items[item], mode))")
        case .invalidate(let item): items[item].invalidate()
        case .trigger(let item):
            switch program.items[item].kind {
            case .source0:
                items[item].signal()
            case .port:
                if queuesAnew(item) { return }
                pending.insert(item)
                items[item].send()
            case .timer:
                stage.log("valid: \(items[item].isValid)")
            case .observer: break
            }
        case .retime(let item, let seconds):
            guard case .timer = program.items[item].kind, items[item].isValid, !isFiringForOtherModes(item) else {
                return
            }
            if firing.contains(where: { $0.item == item }) { retimed.insert(item) }
            items[item].secondsToFire = seconds
        case .addCommonMode(let mode):
            // Ports that are ready join the mode in the order of CF's hash table, which depends on their addresses.
            if questions == .few, pending.count > 1 { return }
            loop.addCommonMode(mode)
        case .ask:
            stage.log("in \(loop.currentMode ?? "none"), waits: \(loop.isWaiting)")
            if program.flavour == .everything { logTimes() }
        case .block(let modes, let script):
            loop.perform(in: modes) { [unowned self] in
                stage.log("block \(script)")
                play(script)
            }
        case .run(let mode, let seconds, let untilHandled):
            guard depth < 4 else { return }
            depth += 1
            if program.flavour != .everything { loop.spend(0.0001) }
            // With ports the guard is a source that the run handles.
            let returns = untilHandled || seconds > 0 && program.flavour == .ports
            stage.run(mode, seconds, returnAfterSourceHandled: returns)
            depth -= 1
        case .stop: loop.stop()
        case .wakeUp: loop.wakeUp()
        case .wakingSignal(let item): if case .source0 = program.items[item].kind { items[item].signalAndWake() }
        case .spend(let seconds): loop.spend(seconds)
        }
    }

    // MARK: Documented differences that a program could show

    /// Whether a send would show `DifferencesTests.servedPortQueuesAnew`: the port was served before, and queues with
    /// others in several modes.
    private func queuesAnew(_ port: Int) -> Bool {
        guard questions == .few else { return false }
        let isElsewhere = modes(of: port).count > 1 || servedElsewhere.contains(port)
        return calls[port] > 0 && !pending.subtracting([port]).isEmpty && isElsewhere
    }

    /// Whether a new time would show `DifferencesTests.timerRetimedForAnotherMode`: the timer's own callout gives it,
    /// and the timer is also in another mode. For the same reason a timer joins no mode after that.
    private func isFiringForOtherModes(_ timer: Int) -> Bool {
        questions == .few
            && firing.contains { $0.item == timer && modes(of: timer).contains { [mode = $0.mode] in $0 != mode } }
    }

    private func modes(of item: Int) -> [String] {
        RandomProgram.modes.filter { stage.loop.contains(items[item], $0) }
    }
}
