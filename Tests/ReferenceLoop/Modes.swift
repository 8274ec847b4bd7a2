// A mode is a name. A run serves the items and the blocks of one mode; those of other modes wait.
//
// `common` is not a mode, but stands for several: what is added to it joins each of them, and each that is named later.

extension ReferenceLoop {
    /// Adds an item to a mode, or to `common`.
    package func add(_ item: Item, in mode: String) {
        if item.isValid { join(item, mode == "common" ? ["common"] + commonModes : [mode]) }
    }

    /// Removes an item from a mode; from `common`, also if it was added to a common mode by name.
    package func remove(_ item: Item, in mode: String) {
        if contains(item, in: mode) { leave(item, mode == "common" ? ["common"] + commonModes : [mode]) }
    }

    /// Whether an item is in a mode, or was added to `common`.
    package func contains(_ item: Item, in mode: String) -> Bool { item.joined[mode] != nil }

    /// Makes a mode one of those that `common` stands for.
    package func addCommonMode(_ mode: String) {
        guard mode != "common", !commonModes.contains(mode) else { return }
        commonModes.append(mode)
        for item in items(in: "common") { join(item, [mode]) }
    }

    /// Posts a block that runs once, in whichever of the modes runs first.
    package func perform(in modes: [String], wake: Bool = true, _ body: @escaping () -> Void) {
        for mode in modes { make(mode) }
        blocks.append((modes, body))
        if wake { wakeUp() }
    }

    private func join(_ item: Item, _ modes: [String]) {
        let new = modes.filter { !contains(item, in: $0) }
        if new.isEmpty { return }
        if item.joined.isEmpty { items.append(item) }
        for mode in new {
            make(mode)
            item.willJoin(mode)
            item.joined[mode] = nextTurn()
        }
        if item.wakesLoopAsItJoins { wakeUp() }
        for mode in new where mode != "common" { item.didJoin(mode) }
    }

    func leave(_ item: Item, _ modes: [String]) {
        let left = modes.filter { contains(item, in: $0) }.sorted { item.joined[$0]! < item.joined[$1]! }
        for mode in left { item.joined[mode] = nil }
        if item.joined.isEmpty { items.removeAll { $0 == item } }
        for mode in left where mode != "common" { item.didLeave(mode) }
    }

    private func make(_ mode: String) { if mode != "common", !modes.contains(mode) { modes.append(mode) } }

    /// The items of a mode, in the order in which they joined it.
    private func items(in mode: String) -> [Item] {
        items.filter { contains($0, in: mode) }.sorted { $0.joined[mode]! < $1.joined[mode]! }
    }

    func observers(in mode: String) -> [Observer] {
        let observers = items(in: mode).compactMap { $0 as? Observer }
        return observers.sorted { ($0.order, $0.joined[mode]!) < ($1.order, $1.joined[mode]!) }
    }

    func signalledSource0s(in mode: String) -> [Source0] {
        let signalled = items(in: mode).compactMap { $0 as? Source0 }.filter { $0.signalTurn != nil }
        return signalled.sorted { ($0.order, $0.signalTurn!) < ($1.order, $1.signalTurn!) }
    }

    func readyPorts(in mode: String) -> [Port] {
        let ready = items(in: mode).compactMap { $0 as? Port }.filter { $0.readyTurn(in: mode) != nil }
        return ready.sorted { $0.readyTurn(in: mode)! < $1.readyTurn(in: mode)! }
    }

    package func timers(in mode: String) -> [Timer] {
        items(in: mode).compactMap { $0 as? Timer }.sorted { ($0.fireTime, $0.turn) < ($1.fireTime, $1.turn) }
    }

    func mayRun(_ modes: [String], in mode: String) -> Bool {
        modes.contains(mode) || modes.contains("common") && commonModes.contains(mode)
    }

    /// Whether a block or a signalled source waits for a pass.
    func hasPostedWork(in mode: String) -> Bool {
        blocks.contains { mayRun($0.modes, in: mode) } || !signalledSource0s(in: mode).isEmpty
    }

    /// Whether there is anything that a pass may serve, now or later. An observer is not.
    func hasAnythingToWaitFor(in mode: String) -> Bool {
        blocks.contains { mayRun($0.modes, in: mode) } || items(in: mode).contains { !($0 is Observer) }
    }
}
