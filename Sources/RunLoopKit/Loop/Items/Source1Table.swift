/// The version-1 sources of a mode, and the tokens by which the kernel knows them.
///
/// A token holds a slot's number and its generation. When a source leaves, the slot's generation changes, so a stale
/// event refers to no source, even if the slot, the descriptor's number or the object's address has been reused.
///
/// Guarded by the lock of the loop that has the table, and therefore without checks of exclusivity. A class: a struct
/// would be copied with its arrays before each call that asks a source, which took 100 instructions.
final class Source1Table {
    /// What belongs to the source with the same index in `sources`.
    private struct Slot: BitwiseCopyable {
        var generation: UInt32 = 0
        /// Whether the source has a handler, and is valid, as its mode knows: only then it is watched.
        var isWatched = true
        /// `Source1.knowsTurn`.
        var knowsTurn = false
        /// The sequence number of the source's insertion.
        var turn: UInt64 = 0
    }

    /// A source in the table.
    private struct Member {
        let source: any Source1
        /// The sequence number of its insertion.
        let turn: UInt64

        /// The sequence number of its readiness in this mode: of a send, or of its insertion if it was ready then. 0 if
        /// it is not ready, nil if it does not know.
        var readyTurn: UInt64? { source.readyTurn.map { $0 == 0 ? 0 : max($0, turn) } }
    }

    /// Apart from the sources: what the kernel has reported is looked up here without a retain.
    @exclusivity(unchecked) private var slots = PlainArray<Slot>()
    @exclusivity(unchecked) private var sources: [(any Source1)?] = []
    @exclusivity(unchecked) private var free: [Int] = []

    /// The generation of new slots. No slot that was given back has had it.
    @exclusivity(unchecked) private var firstGeneration: UInt32 = 0

    /// How many sources have left since the table last looked for slots to give back.
    @exclusivity(unchecked) private var removals = 0

    /// The slots of the sources that do not remember them: see `Loop.Item.sourceSlot`.
    @exclusivity(unchecked) private var slotOfSource: [ObjectIdentifier: Int] = [:]

    /// Tokens that the kernel has reported after their sources had left, and the numbers of the answers that did.
    @exclusivity(unchecked) private var reportedWithoutSource: [UInt64: UInt64] = [:]

    @exclusivity(unchecked) private var count = 0

    /// The number of sources of whose readiness the loop learns from the kernel alone.
    @exclusivity(unchecked) private(set) var kernelCount = 0

    var isEmpty: Bool { count == 0 }

    var all: [(source: any Source1, token: UInt64)] {
        sources.indices.compactMap { index in sources[index].map { ($0, token(of: index)) } }
    }

    /// The last source first: the last slots are rarely empty.
    func contains(where isWanted: (any Source1) -> Bool) -> Bool {
        sources.reversed().contains { $0.map(isWanted) ?? false }
    }

    /// Those to watch, in the order in which an epoll set made now reports them: first those that are not ready, then
    /// by the sequence number of their readiness.
    var inOrderOfReadiness: [(source: any Source1, token: UInt64)] {
        let watched = all.filter { slots[index(of: $0.token)!].isWatched }
        // Most loops of threads have one.
        guard watched.count > 1 else { return watched }
        return watched.map { ($0, turn(of: $0.token) ?? 0) }.sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// As `Member.readyTurn`; 0 if the source has left, too.
    func turn(of token: UInt64) -> UInt64? { member(for: token).map(\.readyTurn) ?? 0 }

    /// The same for a source that the kernel has reported in its answer number `answer`.
    @inline(__always)
    func turn(ofReported token: UInt64, in answer: UInt64) -> UInt64? {
        guard let index = index(of: token) else {
            noteReportWithoutSource(of: token, in: answer)
            return 0
        }
        return slots[index].knowsTurn ? turn(of: token) : nil
    }

    /// The token of a source in the table, if it is to be watched.
    func tokenToWatch(_ source: Loop.Item) -> UInt64? {
        guard let index = slot(of: source), slots[index].isWatched else { return nil }
        return token(of: index)
    }

    /// A source in the table has got a handler.
    func beginWatching(_ source: Loop.Item) { if let index = slot(of: source) { slots[index].isWatched = true } }

    /// Returns whether the source is in the table, and was to be watched.
    func stopWatching(_ source: Loop.Item) -> Bool {
        guard let index = slot(of: source) else { return false }
        return exchange(&slots[index].isWatched, with: false)
    }

    /// The token of a source in the table.
    func token(of source: Loop.Item) -> UInt64? { slot(of: source).map(token(of:)) }

    private func slot(of source: Loop.Item) -> Int? {
        let known = source.sourceSlot
        // It may be one in another table.
        if known >= 0, known < sources.count, sources[known] === source { return known }
        return slotOfSource.isEmpty ? nil : slotOfSource[ObjectIdentifier(source)]
    }

    /// The source that `token` was made for, if it is still in the table.
    @inline(__always)
    func source(for token: UInt64) -> (any Source1)? { index(of: token).flatMap { sources[$0] } }

    /// The same, with the sequence number of its insertion.
    private func member(for token: UInt64) -> Member? {
        index(of: token).flatMap { index in sources[index].map { Member(source: $0, turn: slots[index].turn) } }
    }

    /// The slot that `token` was made for. It may be empty.
    @inline(__always)
    private func index(of token: UInt64) -> Int? {
        let index = Int(token & 0xFFFF_FFFF)
        return index < slots.count && slots[index].generation == UInt32(token >> 32) ? index : nil
    }

    /// Takes note of a token that the kernel has reported, and whose source has left.
    ///
    /// The source may have left after the kernel's answer, which happens once for each of its descriptors. A token in a
    /// later answer is that of a file which the library can no longer take out of the epoll set. The program has put
    /// another file in the place of its descriptor, and keeps the file open elsewhere. Level-triggered, it would keep
    /// the loop awake for ever.
    @inline(never)
    func noteReportWithoutSource(of token: UInt64, in answer: UInt64) {
        // Past that many, all are old ones that happened once.
        if reportedWithoutSource.count == 64 { reportedWithoutSource = [:] }
        guard let earlier = reportedWithoutSource.updateValue(answer, forKey: token), earlier != answer else { return }
        System.descriptorOfNobodyReported()
    }

    /// - Parameter turn: The sequence number of its insertion.
    func insert(_ source: any Source1, turn: UInt64) {
        let index = free.popLast() ?? slots.count
        if index == slots.count {
            slots.append(Slot(generation: firstGeneration))
            sources.append(nil)
        }
        slots[index] = Slot(
            generation: slots[index].generation, isWatched: source.hasHandler, knowsTurn: source.knowsTurn, turn: turn)
        sources[index] = source
        if !source.isPort { kernelCount += 1 }
        count += 1
        let isInAnotherTable = source.sourceSlot >= 0
        if !isInAnotherTable { source.sourceSlot = index }
        if isInAnotherTable || source.sourceSlot < 0 { slotOfSource[ObjectIdentifier(source)] = index }
    }

    /// Changes the sequence number of a source's insertion.
    func setTurn(_ turn: UInt64, of item: Loop.Item) {
        if let index = slot(of: item) { slots[index].turn = turn }
    }

    /// Returns whether the source was to be watched.
    @discardableResult
    func remove(_ source: any Source1) -> Bool {
        guard let index = slot(of: source) else { return false }
        forgetSlot(of: source)
        count -= 1
        if !source.isPort { kernelCount -= 1 }
        let isWatched = slots[index].isWatched
        slots[index].generation = Source1Table.generation(after: slots[index].generation)
        sources[index] = nil
        free.append(index)
        removals += 1
        // Only now and then, since this may look at all slots.
        if slots.count > 64, isEmpty || removals > slots.count / 16 { giveBack() }
        return isWatched
    }

    /// The last generation is never used: it would yield the loop's own tokens.
    private static func generation(after generation: UInt32) -> UInt32 { (generation + 1) % (.max - 1) }

    /// Gives back the slots behind the last source, if they are many.
    private func giveBack() {
        removals = 0
        let end = sources.lastIndex { $0 != nil }.map { $0 + 1 } ?? 0
        guard end < slots.count / 4 * 3 else { return }
        for index in end..<slots.count { firstGeneration = max(firstGeneration, slots[index].generation) }
        slots = slots.copy(first: end)
        sources = Array(sources[..<end])
        free = sources.indices.filter { sources[$0] == nil }
        slotOfSource.giveBack()
    }

    private func forgetSlot(of source: any Source1) {
        if !slotOfSource.isEmpty, slotOfSource.removeValue(forKey: ObjectIdentifier(source)) != nil { return }
        source.sourceSlot = -1
    }

    /// For a loop that ends.
    func removeAll() {
        for case let source? in sources { forgetSlot(of: source) }
        slots = PlainArray()
        (sources, free, slotOfSource) = ([], [], [:])
        (count, kernelCount) = (0, 0)
    }

    private func token(of index: Int) -> UInt64 { UInt64(slots[index].generation) << 32 | UInt64(index) }
}
