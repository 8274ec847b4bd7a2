/// Numbers in an order that looks random, and is the same each time.
package struct Scatter {
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    package init() {}

    /// A number below `limit`. Takes two or three nanoseconds.
    package mutating func next(below limit: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state >> 1) % limit
    }
}
