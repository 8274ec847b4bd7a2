import RunLoopKit

/// The part of a sequence that repeats at its end, such as the calls of a feedback loop.
struct RepeatingCycle: Equatable {
    /// The number of elements of one round.
    let period: Int

    /// The number of complete rounds at the end of the sequence.
    let rounds: Int

    /// Finds the shortest cycle at the end of `sequence`; nil if nothing repeats there.
    ///
    /// A cycle has at least two rounds, and the repeating end contains at least half of all occurrences of `element`.
    /// Without the second condition the end of `a a b a a` would be the cycle `a`.
    ///
    /// Takes quadratic time if the sequence is nearly periodic in many ways.
    static func shortest<Element: Equatable>(at sequence: [Element], through element: Element) -> RepeatingCycle? {
        let total = sequence.count { $0 == element }
        guard total > 0, sequence.count > 1 else { return nil }
        for period in 1...(sequence.count / 2) {
            let length = lengthOfEnd(of: sequence, repeatingEvery: period)
            guard length >= 2 * period else { continue }
            let covered = sequence.suffix(length).count { $0 == element }
            if 2 * covered >= total, covered >= 2 { return RepeatingCycle(period: period, rounds: length / period) }
        }
        return nil
    }

    /// The length of the longest end of a sequence in which each element equals the one `period` before it.
    private static func lengthOfEnd<Element: Equatable>(
        of sequence: [Element], repeatingEvery period: Int
    ) -> Int {
        var index = sequence.count - 1
        while index >= period, sequence[index] == sequence[index - period] { index -= 1 }
        return sequence.count - 1 - index + period
    }
}

extension Array where Element: Equatable {
    /// One round of the cycle that leads to the last occurrence of `element`: from the occurrence before it, whichever
    /// elements are between the two. If the array ends with a repeating cycle, the round is exactly that cycle.
    func lastRound(through element: Element, _ cycle: RepeatingCycle?) -> ArraySlice<Element> {
        guard let last = lastIndex(of: element) else { return [] }
        if let cycle { return self[(last - cycle.period)..<last] }
        guard let previous = self[..<last].lastIndex(of: element) else { return self[last...last] }
        return self[previous..<last]
    }
}
