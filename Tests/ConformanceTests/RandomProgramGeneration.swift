import ConformanceSupport
import TestSupport

extension RandomProgram {
    private enum Context { case main, source0, port, observer, afterWaiting, timer, block }

    /// - Parameter prefersCommon: Whether all modes are common ones, and most items are added to `common`.
    init(seed: UInt64, _ flavour: Flavour, prefersCommon: Bool = false) {
        self.flavour = flavour
        self.prefersCommon = prefersCommon
        var random = SplitMix(seed &* 0x9E37_79B9 &+ UInt64(flavour.rawValue.count))
        if flavour == .everything {
            makeEverything(&random)
        } else {
            makeItems(&random)
            makeScripts(&random)
        }
    }

    private mutating func makeItems(_ random: inout SplitMix) {
        let sources = random.below(3) + (flavour == .stops ? 1 : 0)
        for _ in 0..<sources {
            items.append(Item(kind: .source0(order: random.below(3), logsModes: random.below(2) == 0), scripts: []))
        }
        if flavour == .ports {
            for _ in 0..<(1 + random.below(4)) { items.append(Item(kind: .port, scripts: [])) }
        }
        if flavour == .timers {
            for _ in 0..<(1 + random.below(4)) {
                let after = random.below(3) > 0 ? 0 : RandomProgram.late
                let every = random.below(2) == 0 ? RandomProgram.late : 0
                items.append(Item(kind: .timer(after: after, every: every), scripts: []))
            }
        }
        for _ in 0..<random.below(4) {
            // All of different order: in CF, observers in "common" join a new common mode in no particular order.
            let activities = random.below(3) == 0 ? Activity.all.subtracting(.afterWaiting) : random.pick(Activity.each)
            items.append(
                Item(
                    kind: .observer(
                        activities, repeats: random.below(4) > 0, order: 10 * random.below(3) + items.count),
                    scripts: []))
        }
    }

    private mutating func makeScripts(_ random: inout SplitMix) {
        scripts = [[]]
        for index in items.indices {
            let context: Context =
                switch items[index].kind {
                case .source0: .source0
                case .port: .port
                case .timer: .timer
                case .observer(let activities, _, _): activities == .afterWaiting ? .afterWaiting : .observer
                }
            for _ in 0..<random.below(4) { items[index].scripts.append(makeScript(context, 3, &random)) }
        }
        var main: [Step] = prefersCommon ? [.addCommonMode("a"), .addCommonMode("b")] : []
        for index in items.indices where random.below(6) > 0 { main.append(.add(index, mode(&random, common: true))) }
        for _ in 0..<(3 + random.below(8)) {
            if let step = makeStep(.main, 3, &random) { main.append(step) }
            if random.below(2) == 0 { main.append(makeRun(&random)) }
        }
        main.append(.run("default", seconds: 0, untilHandled: false))
        main.append(.run("a", seconds: 0, untilHandled: false))
        scripts[0] = main
    }

    private func mode(_ random: inout SplitMix, common: Bool) -> String {
        let choice = common && prefersCommon && random.once(in: 2) ? 5 : random.below(common ? 6 : 5)
        return choice < 3 ? "default" : choice == 3 ? "a" : choice == 4 ? "b" : "common"
    }

    private mutating func makeScript(_ context: Context, _ depth: Int, _ random: inout SplitMix) -> Int {
        let index = scripts.count
        scripts.append([])
        var script: [Step] = []
        for _ in 0..<random.below(4) { if let step = makeStep(context, depth, &random) { script.append(step) } }
        scripts[index] = script
        return index
    }

    private func makeRun(_ random: inout SplitMix) -> Step {
        let mode = mode(&random, common: random.below(10) == 0)
        let polls = flavour == .timers || random.below(2) == 0
        return .run(mode, seconds: polls ? 0 : 2, untilHandled: random.below(3) == 0)
    }

    private mutating func makeStep(_ context: Context, _ depth: Int, _ random: inout SplitMix) -> Step? {
        let item = items.isEmpty ? 0 : random.below(items.count)
        switch random.below(20) {
        case 0, 1, 2, 3, 4:
            // CF has already counted the sends to the port that woke it, RunLoopKit has not.
            return context == .afterWaiting && flavour == .ports ? .ask : .trigger(item)
        case 5, 6, 7: return .add(item, mode(&random, common: true))
        case 8, 9:
            // A removed port that woke the loop keeps its sends: a documented difference.
            return context == .afterWaiting ? .ask : .remove(item, mode(&random, common: true))
        case 10:
            // In CF, the last of several version-0 sources alone decides whether one was handled.
            return context == .afterWaiting || context == .source0 ? .ask : .invalidate(item)
        case 11: return .addCommonMode(mode(&random, common: false))
        case 12: return .contains(item, mode(&random, common: true))
        case 13: return .ask
        case 14, 15:
            guard depth > 0 else { return nil }
            let modes = random.below(4) == 0 ? ["default", "a"] : [mode(&random, common: true)]
            return .block(modes, makeScript(.block, depth - 1, &random))
        case 16, 17:
            return context == .afterWaiting || context == .source0 && source0Count > 1 || context == .main
                ? nil : makeRun(&random)
        case 18:
            return flavour == .stops ? .stop : nil
        default:
            if flavour == .timers { return .retime(item, random.below(2) == 0 ? 0 : RandomProgram.late) }
            return flavour == .stops ? .wakeUp : nil
        }
    }

    private var source0Count: Int {
        items.count { if case .source0 = $0.kind { true } else { false } }
    }
}
