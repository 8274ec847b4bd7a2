import ConformanceSupport

/// Plays a program on a stage.
final class RandomProgramPlayer {
    let program: RandomProgram
    let stage: Stage
    var items: [any Item] = []
    var calls: [Int]
    var guards: [any Item] = []
    var budget = 150
    var depth = 0

    init(_ program: RandomProgram, _ stage: Stage) {
        self.program = program
        self.stage = stage
        calls = program.items.map { _ in 0 }
    }

    func play() {
        for index in program.items.indices { items.append(make(index)) }
        for mode in RandomProgram.modes {
            stage.observe(mode)
            guards.append(makeGuard(mode))
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
        case .port: return stage.port("\(index)", then: then)
        case .timer(let due, let repeats):
            return stage.timer("\(index)", after: due ? 0 : 1e5, every: repeats ? 1e5 : 0) { _ in then() }
        case .observer(let activities, let repeats, let order):
            return stage.observer("observer \(index)", activities, repeats: repeats, order: order) { _, _ in then() }
        }
    }

    private func play(_ script: Int) {
        for step in program.scripts[script] {
            budget -= 1
            if budget < 0 { return }
            play(step)
        }
    }

    private func play(_ step: RandomProgram.Step) {
        let loop = stage.loop!
        switch step {
        case .add(let item, let mode): loop.add(items[item], mode)
        case .remove(let item, let mode): loop.remove(items[item], mode)
        case .contains(let item, let mode):
            // CF may fail to remove a timer or an observer from "common" when it is in no other mode, or report that it
            // is not there.
            if mode == "common" { return }
            stage.log("\(item) in \(mode): \(loop.contains(items[item], mode))")
        case .invalidate(let item): items[item].invalidate()
        case .trigger(let item):
            switch program.items[item].kind {
            case .source0:
                items[item].signal()
            case .port:
                items[item].send()
            case .timer:
                stage.log("valid: \(items[item].isValid)")
            case .observer: break
            }
        case .retime(let item, let due):
            if case .timer = program.items[item].kind, items[item].isValid { items[item].secondsToFire = due ? 0 : 1e5 }
        case .addCommonMode(let mode):
            loop.addCommonMode(mode)
        case .ask: stage.log("in \(loop.currentMode ?? "none"), waits: \(loop.isWaiting)")
        case .block(let modes, let script):
            loop.perform(in: modes) { [unowned self] in
                stage.log("block \(script)")
                play(script)
            }
        case .run(let mode, let polls, let untilHandled):
            guard depth < 4 else { return }
            depth += 1
            loop.spend(0.0001)
            // With ports the guard is a source that the run handles.
            let returns = untilHandled || !polls && program.flavour == .ports
            stage.run(mode, polls ? 0 : 2, returnAfterSourceHandled: returns)
            depth -= 1
        case .stop: loop.stop()
        case .wakeUp: loop.wakeUp()
        }
    }
}
