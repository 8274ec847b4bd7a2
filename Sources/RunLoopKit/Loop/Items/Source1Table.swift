/// The version-1 sources of a mode, and the tokens by which the kernel knows them.
///
/// A token holds a slot's number and its generation: when a source leaves, its slot's generation moves on, so an event
/// that was fetched before names nobody any more, even if the slot, the descriptor's number or the object's address has
/// been used again.
struct Source1Table {
    private struct Slot {
        var generation: UInt32 = 0
        var source: (any Source1)?
        /// The turn in which the source came.
        var turn: UInt64 = 0
    }

    /// A source that is here.
    struct Entry {
        let source: any Source1
        /// The turn in which it came.
        let turn: UInt64

        /// The turn in which it became ready here: by a send, or by coming with one. 0 when it is not ready, nil when
        /// it does not know.
        var readyTurn: UInt64? { source.readyTurn.map { $0 == 0 ? 0 : max($0, turn) } }
    }

    private var slots: [Slot] = []
    private var free: [Int] = []
    private var slotOfSource: [ObjectIdentifier: Int] = [:]

    /// The slots of those that the kernel does not watch.
    private var unwatched: [Int] = []

    var isEmpty: Bool { slotOfSource.isEmpty }

    var all: [(source: any Source1, token: UInt64)] {
        slots.indices.compactMap { index in slots[index].source.map { ($0, token(of: index)) } }
    }

    /// The same, first those that are not ready, then in the order of their turns. An epoll set made now is to report
    /// them in this order.
    var inOrderOfReadiness: [(source: any Source1, token: UInt64)] {
        all.map { ($0, turn(of: $0.token) ?? 0) }.sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// The ones that the kernel does not watch and that are ready.
    var readyUnwatched: [UInt64] {
        unwatched.filter { slots[$0].source!.readyTurn != 0 }.map(token(of:))
    }

    /// The turn in which a source became ready here: by a send, or by coming with one. 0 when it is not ready or has
    /// left, nil for what does not know.
    func turn(of token: UInt64) -> UInt64? { entry(for: token).map(\.readyTurn) ?? 0 }

    /// The token of a source that is here.
    func token(of source: any Source1) -> UInt64? { slotOfSource[ObjectIdentifier(source)].map(token(of:)) }

    /// The source that `token` was made for, if it is still here.
    func source(for token: UInt64) -> (any Source1)? { entry(for: token)?.source }

    /// The same, with what the turn in which it came says.
    func entry(for token: UInt64) -> Entry? {
        let index = Int(token & 0xFFFF_FFFF)
        guard index < slots.count, slots[index].generation == UInt32(token >> 32) else { return nil }
        return slots[index].source.map { Entry(source: $0, turn: slots[index].turn) }
    }

    mutating func insert(_ source: any Source1) {
        let index = free.popLast() ?? slots.count
        if index == slots.count { slots.append(Slot()) }
        slots[index].source = source
        slots[index].turn = Turn.next()
        slotOfSource[ObjectIdentifier(source)] = index
        if source.watches.isEmpty { unwatched.append(index) }
    }

    mutating func remove(_ source: any Source1) {
        guard let index = slotOfSource.removeValue(forKey: ObjectIdentifier(source)) else { return }
        slots[index].source = nil
        unwatched.removeAll { $0 == index }
        // The last generation is never used: it would make the loop's own tokens.
        slots[index].generation = (slots[index].generation + 1) % (.max - 1)
        free.append(index)
    }

    private func token(of index: Int) -> UInt64 { UInt64(slots[index].generation) << 32 | UInt64(index) }
}
