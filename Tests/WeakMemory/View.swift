/// What a thread, or a reader of a message, has seen: of each atomic location the number of a message, and of each
/// plain one whether the last write and the last reads are known.
///
/// A number is a place in the location's modification order. Sixteen locations have a byte each, of which the highest
/// bit is unused. The bits of plain locations are those of `Memory`.
struct View: Hashable {
    static let locationLimit = 16
    static let messageLimit = 127

    private(set) var low: UInt64 = 0
    private(set) var high: UInt64 = 0
    /// A set bit means that the view has the last access of its kind. So nothing is missing at first.
    var plain: UInt64 = .max

    subscript(location: Int) -> Int {
        get { Int((location < 8 ? low >> (8 * UInt64(location)) : high >> (8 * UInt64(location - 8))) & 0xFF) }
        set {
            let shift = 8 * UInt64(location & 7)
            if location < 8 {
                low = low & ~(0xFF << shift) | UInt64(newValue) << shift
            } else {
                high = high & ~(0xFF << shift) | UInt64(newValue) << shift
            }
        }
    }

    /// Adds what the other view has seen.
    mutating func join(_ other: View) {
        low = View.maximum(low, other.low)
        high = View.maximum(high, other.high)
        plain |= other.plain
    }

    /// Keeps what both views have seen.
    mutating func meet(_ other: View) {
        low = low &+ other.low &- View.maximum(low, other.low)
        high = high &+ other.high &- View.maximum(high, other.high)
        plain &= other.plain
    }

    /// Subtracts the numbers of a view that has seen no more.
    mutating func subtract(_ other: View) {
        low &-= other.low
        high &-= other.high
    }

    /// The larger one of each pair of bytes.
    private static func maximum(_ first: UInt64, _ second: UInt64) -> UInt64 {
        let highest: UInt64 = 0x8080_8080_8080_8080
        let isFirst = ((first | highest) &- second) & highest
        let mask = (isFirst &- (isFirst >> 7)) | isFirst
        return first & mask | second & ~mask
    }

    static let bottom: View = {
        var view = View()
        view.plain = 0
        return view
    }()
}
