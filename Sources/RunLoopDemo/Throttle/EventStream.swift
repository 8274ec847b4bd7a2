/// Makes up events such as a person causes: bursts, quick as a mouse that is moved or slower as typing, with pauses
/// between them. The same seed gives the same events.
struct EventStream {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(state: seed) }

    /// The times of the events before `end`, ascending.
    static func times(seed: UInt64, until end: Duration) -> [Duration] {
        var stream = EventStream(seed: seed)
        var times: [Duration] = []
        var now = stream.milliseconds(40...120)
        while now < end {
            let isMouse = stream.number(in: 0...1) == 0
            for _ in 0..<stream.number(in: isMouse ? 6...26 : 2...9) where now < end {
                times.append(now)
                now += stream.milliseconds(isMouse ? 12...40 : 50...110)
            }
            now += stream.milliseconds(120...480)
        }
        return times
    }

    /// Not only whole ones: people do not keep to them.
    private mutating func milliseconds(_ bounds: ClosedRange<Int64>) -> Duration {
        .microseconds(number(in: bounds.lowerBound * 1000...bounds.upperBound * 1000))
    }

    private mutating func number(in bounds: ClosedRange<Int64>) -> Int64 {
        bounds.lowerBound + Int64(random.next() % UInt64(bounds.upperBound - bounds.lowerBound + 1))
    }
}

/// Sebastiano Vigna's splitmix64: the standard library's own generator takes no seed.
private struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
