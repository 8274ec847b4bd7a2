/// Steele, Lea and Flood's generator: the same numbers from the same seed, everywhere.
package struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to and excluding `bound`; 0 if `bound` is below 1.
    package mutating func below(_ bound: Int) -> Int { bound < 1 ? 0 : Int(next() >> 33) % bound }

    /// One of several choices.
    package mutating func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element
    where Choices.Index == Int {
        choices[choices.startIndex + below(choices.count)]
    }

    /// True once in `count` times.
    package mutating func once(in count: Int) -> Bool { below(count) == 0 }
}
