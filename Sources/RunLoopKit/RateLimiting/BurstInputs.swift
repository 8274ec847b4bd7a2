/// The inputs that wait for the trailing edges of a limiter's bursts, a slot for each burst. Guarded by the limiter's
/// lock.
///
/// Inputs that leave are returned, so that the caller releases them without the lock: their `deinit` may call the
/// limiter. They are behind pointers, since callers are seldom specialised for `Input`: a property of type `Input?`
/// takes ten times as long.
@usableFromInline
package struct BurstInputs<Input: Sendable> {
    /// The last input of each burst. Initialized while the burst's times say that an input is pending.
    @usableFromInline package let lasts: UnsafeMutablePointer<Input>

    /// The inputs before the last one. Nil unless all inputs are kept.
    @usableFromInline package let earlier: UnsafeMutablePointer<[Input]>?

    init(capacity: Int, keepsAll: Bool) {
        lasts = .allocate(capacity: capacity)
        earlier = keepsAll ? .allocate(capacity: capacity) : nil
        earlier?.initialize(repeating: [], count: capacity)
    }

    /// The owner has taken all inputs.
    ///
    /// - Parameter capacity: As it was made with. Not kept here, since most limiters have one slot.
    func deallocate(capacity: Int) {
        lasts.deallocate()
        earlier?.deinitialize(count: capacity)
        earlier?.deallocate()
    }

    /// Keeps the first input of a burst.
    @inlinable
    func begin(with input: Input, at slot: Int = 0) { (lasts + slot).initialize(to: input) }

    /// Replaces the last input, and returns it.
    @inlinable
    func replaceLast(with input: Input, at slot: Int = 0) -> Input {
        let replaced = (lasts + slot).move()
        (lasts + slot).initialize(to: input)
        return replaced
    }

    /// Keeps a further input, beside those before it. Only if all inputs are kept.
    @inlinable
    func append(_ input: Input, at slot: Int = 0) {
        earlier![slot].append((lasts + slot).move())
        (lasts + slot).initialize(to: input)
    }

    /// Takes the inputs of a burst.
    func take(at slot: Int = 0) -> (earlier: [Input]?, last: Input) {
        // Not by `map`, which is generic over the array.
        var earlierOnes: [Input]?
        if let earlier { earlierOnes = exchange(&earlier[slot], with: []) }
        return (earlierOnes, (lasts + slot).move())
    }

    /// Moves the inputs of a burst to a free slot of another table.
    func move(_ slot: Int, to others: BurstInputs, at other: Int, isPending: Bool) {
        if isPending { (others.lasts + other).moveInitialize(from: lasts + slot, count: 1) }
        if let earlier { others.earlier![other] = exchange(&earlier[slot], with: []) }
    }
}
