/// A value that only its loop's thread may touch, and must release: that of a ``LoopBound``.
class BoundValue: @unchecked Sendable {
    /// Where the loop lists it. Guarded by the loop's lock.
    @exclusivity(unchecked) fileprivate final var slot = BoundValues.nowhere
    /// Orders the values by when they were boxed. Guarded by the same lock.
    @exclusivity(unchecked) fileprivate final var turn = 0

    /// Releases the value. Called on the loop's thread, without any lock.
    func clear() {}
}

/// The values that the loop's thread releases when the loop ends. Guarded by the loop's lock.
///
/// | a value is | then comes | and it is |
/// |---|---|---|
/// | in a box: not retained here, since it may refer to what keeps the loop alive | `abandon` | abandoned |
/// | in a box, or abandoned: retained, until the loop's thread comes around | `remove`, `takeAll` | not listed |
struct BoundValues {
    fileprivate static let nowhere = -1

    private enum Slot {
        case free
        case boxed(Unmanaged<BoundValue>)
        case abandoned(BoundValue)

        var value: BoundValue? {
            switch self {
            case .free: nil
            case .boxed(let value): value.takeUnretainedValue()
            case .abandoned(let value): value
            }
        }
    }

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var turns = 0

    fileprivate mutating func insert(_ value: BoundValue) {
        turns += 1
        value.turn = turns
        let slot = Slot.boxed(.passUnretained(value))
        if let index = freeSlots.popLast() {
            value.slot = index
            slots[index] = slot
        } else {
            value.slot = slots.count
            slots.append(slot)
        }
    }

    fileprivate mutating func abandon(_ value: BoundValue) -> Bool {
        guard value.slot != Self.nowhere else { return false }
        slots[value.slot] = .abandoned(value)
        return true
    }

    /// - Precondition: The caller has a reference to the value.
    fileprivate mutating func remove(_ value: BoundValue) -> Bool {
        guard value.slot != Self.nowhere else { return false }
        slots[value.slot] = .free
        freeSlots.append(value.slot)
        value.slot = Self.nowhere
        if freeSlots.count == slots.count { (slots, freeSlots) = ([], []) }
        return true
    }

    /// The last first: a value's deinit may use one that was boxed before it.
    mutating func takeAll() -> [BoundValue] {
        let taken = slots.compactMap(\.value).sorted { $0.turn > $1.turn }
        for value in taken { value.slot = Self.nowhere }
        self = BoundValues()
        return taken
    }
}

extension Loop {
    /// Lists a value that is in a box now. The end releases it, unless that was before.
    func list(_ value: BoundValue) {
        guard isOfThisProcess else { return }
        lock.withLock { if lifecycle.load(ordering: .relaxed) < .over { boundValues.insert(value) } }
    }

    /// Releases a value whose box is gone, as soon as the loop's thread comes around.
    func releaseOnItsThread(_ value: BoundValue) {
        // A forked child does not have the loop's thread: the caller's reference is the last one.
        guard isOfThisProcess else { return }
        if isOnOwnThread { return lock.withLock { _ = boundValues.remove(value) } }
        // A value that the end has taken is released by the end.
        guard lock.withLock({ boundValues.abandon(value) }) else { return }
        // If the block is refused or dropped, the end releases the value.
        _ = perform(in: .common, Place("release of a LoopBound", 0)) { [unowned self] in
            if lock.withLock({ boundValues.remove(value) }) { value.clear() }
        }
    }
}
