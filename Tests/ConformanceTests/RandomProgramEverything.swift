import ConformanceSupport
import TestSupport

// Programs for RunLoopKit and the reference loop, which have virtual time, and agree where CFRunLoop differs.

extension RandomProgram {
    /// What a program prefers. Each prefers something else: of programs that do everything equally often, few come to
    /// anything that takes several steps of the same kind.
    private struct Taste {
        enum Kind: CaseIterable {
            case trigger, wakingSignal, add, remove, invalidate, addCommonMode, contains, ask, block, run, stop
            case wakeUp, retime, spend
        }

        private var kinds: [Kind] = []
        private var modes = ["default"]

        init(prefersCommon: Bool, _ random: inout SplitMix) {
            for kind in Kind.allCases {
                let weight = random.pick([0, 1, 1, 6])
                switch kind {
                case .run, .trigger: kinds += Array(repeating: kind, count: 1 + weight)
                // What is invalid does no more.
                case .invalidate: kinds += Array(repeating: kind, count: min(weight, 1))
                default: kinds += Array(repeating: kind, count: weight)
                }
            }
            for mode in ["default", "a", "b", "common"] {
                let weight = random.pick([0, 1, 3])
                modes += Array(repeating: mode, count: mode == "common" && prefersCommon ? 3 : weight)
            }
        }

        func kind(_ random: inout SplitMix) -> Kind { random.pick(kinds) }
        func mode(_ random: inout SplitMix) -> String { random.pick(modes) }
    }

    mutating func makeEverything(_ random: inout SplitMix) {
        let taste = Taste(prefersCommon: prefersCommon, &random)
        makeAnyItems(&random)
        scripts = [[]]
        for index in items.indices {
            for _ in 0..<(1 + random.below(4)) { items[index].scripts.append(makeScript(taste, 3, of: index, &random)) }
        }
        var main: [Step] = prefersCommon ? [.addCommonMode("a"), .addCommonMode("b")] : []
        for index in items.indices {
            if random.once(in: 4) {
                // A handler may add it.
                if index < sourceCount { main.append(random.once(in: 2) ? .wakingSignal(index) : .trigger(index)) }
            } else {
                for _ in 0...random.below(2) { main.append(.add(index, taste.mode(&random))) }
            }
        }
        if random.once(in: 2) {
            // Nothing is sent to it: it keeps runs going.
            items.append(Item(kind: .port, scripts: []))
            main += RandomProgram.modes.map { .add(items.count - 1, $0) }
        }
        for _ in 0..<(2 + random.below(4)) {
            if random.once(in: 2), let step = makeStep(taste, 3, of: nil, &random) { main.append(step) }
            main.append(run(taste, &random))
        }
        scripts[0] = main
        // A run of unobserved modes makes fewer passes.
        observedModes.removeAll { _ in random.once(in: 6) }
    }

    /// Those of both versions, which come first.
    private var sourceCount: Int {
        items.prefix { item in
            switch item.kind {
            case .source0, .port: true
            case .timer, .observer: false
            }
        }.count
    }

    private mutating func makeAnyItems(_ random: inout SplitMix) {
        for _ in 0..<(1 + random.below(3)) {
            items.append(Item(kind: .source0(order: random.below(2), logsModes: random.once(in: 2)), scripts: []))
        }
        for _ in 0..<random.below(4) { items.append(Item(kind: .port, scripts: [])) }
        for _ in 0..<random.below(4) {
            let kind = Kind.timer(after: time(&random), every: Double(random.below(3)))
            items.append(Item(kind: kind, scripts: []))
        }
        for _ in 0..<(1 + random.below(4)) {
            let activity = random.pick(Activity.each + [.beforeWaiting, .afterWaiting])
            let kind = Kind.observer(activity, repeats: !random.once(in: 4), order: random.below(3))
            items.append(Item(kind: kind, scripts: []))
        }
    }

    /// Whole seconds, so that many things happen at the same time.
    private func time(_ random: inout SplitMix) -> Double {
        random.once(in: 8) ? RandomProgram.late : Double(random.below(6)) - 1
    }

    private func run(_ taste: Taste, _ random: inout SplitMix) -> Step {
        let mode = taste.mode(&random)
        let isCommon = mode == "common" && !random.once(in: 8)
        return .run(
            isCommon ? "default" : mode, seconds: Double(random.below(4)), untilHandled: random.once(in: 4))
    }

    /// - Parameter owner: The item whose handler plays the script, perhaps by a block that it posts.
    private mutating func makeScript(_ taste: Taste, _ depth: Int, of owner: Int?, _ random: inout SplitMix) -> Int {
        let index = scripts.count
        scripts.append([])
        var script: [Step] = []
        for _ in 0...random.below(5) {
            if let step = makeStep(taste, depth, of: owner, &random) { script.append(step) }
        }
        scripts[index] = script
        return index
    }

    private mutating func makeStep(_ taste: Taste, _ depth: Int, of owner: Int?, _ random: inout SplitMix) -> Step? {
        let other = random.below(items.count)
        let item = random.once(in: 3) ? owner ?? other : other
        let mode = taste.mode(&random)
        let source = random.below(sourceCount)
        switch taste.kind(&random) {
        case .trigger: return .trigger(source)
        case .wakingSignal: return .wakingSignal(source)
        case .add: return .add(item, mode)
        case .remove: return .remove(item, mode)
        case .invalidate: return .invalidate(item)
        case .addCommonMode: return .addCommonMode(mode)
        case .contains: return .contains(item, mode)
        case .ask: return .ask
        case .block:
            guard depth > 0 else { return nil }
            let modes = random.once(in: 4) ? ["default", "a"] : [mode]
            return .block(modes, makeScript(taste, depth - 1, of: owner, &random))
        case .run: return run(taste, &random)
        case .stop: return .stop
        case .wakeUp: return .wakeUp
        case .retime: return .retime(item, time(&random))
        case .spend: return .spend(Double(random.below(3)))
        }
    }
}
