/// The keys and inputs in the slots of a `KeyTable`. Guarded by the limiter's lock.
///
/// They are behind pointers: see `BurstInputs`.
@usableFromInline
struct KeyContents<Key: Hashable & Sendable, Input: Sendable> {
    /// Initialized in the slots in use.
    @usableFromInline let keys: UnsafeMutablePointer<Key>
    @usableFromInline let inputs: BurstInputs<Input>

    init(capacity: Int, keepsAll: Bool) {
        keys = .allocate(capacity: capacity)
        inputs = BurstInputs(capacity: capacity, keepsAll: keepsAll)
    }

    /// Releases the keys and inputs of a table, and the memory of both.
    func deallocate(with table: KeyTable) {
        for slot in table.usedSlots {
            (keys + slot).deinitialize(count: 1)
            if table[slot].isPending { _ = inputs.take(at: slot) }
        }
        keys.deallocate()
        inputs.deallocate(capacity: table.capacity)
        table.deallocate()
    }

    /// The slot of a key that is remembered.
    @inlinable
    func slot(of key: Key, _ hash: UInt32, in table: KeyTable) -> Int? {
        var slot = table.firstSlot(hash)
        while let found = slot, keys[found] != key { slot = table.nextSlot(after: found) }
        return slot
    }

    /// Moves all keys and inputs to a table of another capacity.
    mutating func resize(_ table: inout KeyTable, to capacity: Int) {
        let others = KeyContents(capacity: capacity, keepsAll: inputs.earlier != nil)
        let resized = table.resized(to: capacity) { slot, new in
            (others.keys + new).moveInitialize(from: keys + slot, count: 1)
            inputs.move(slot, to: others.inputs, at: new, isPending: table[slot].isPending)
        }
        keys.deallocate()
        inputs.deallocate(capacity: table.capacity)
        table.deallocate()
        (self, table) = (others, resized)
    }
}
