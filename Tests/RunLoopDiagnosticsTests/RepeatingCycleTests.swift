import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// The cycle at the end of a sequence.
@Suite(.timeBound) struct RepeatingCycleTests {
    private func cycle(_ text: String) -> String? {
        let sequence = Array(text)
        let element = sequence.last!
        guard let cycle = RepeatingCycle.shortest(at: sequence, through: element) else { return nil }
        return "\(String(sequence.lastRound(through: element, cycle))) \(cycle.rounds)"
    }

    @Test("The shortest cycle at the end is found, beginning with the last element")
    func shortestCycle() {
        #expect(cycle("aaaa") == "a 4")
        #expect(cycle("ababa") == "ab 2")
        #expect(cycle("xyzababab") == "ba 3")
        #expect(cycle("qwertyabcabcabca") == "abc 3")
        #expect(cycle("aabaabaab") == "baa 3", "not: a")
        #expect(cycle("baabaabaa") == "aba 3", "not: a")
    }

    @Test("Nothing repeats in a sequence without a cycle")
    func noCycle() {
        #expect(cycle("a") == nil && cycle("ab") == nil && cycle("abcdefa") == nil)
        #expect(cycle("abacadaea") == nil)
    }

    @Test("Without a cycle the last round is what is between the last two occurrences")
    func lastRoundWithoutCycle() {
        let sequence = Array("abacadefa")
        #expect(String(sequence.lastRound(through: "a", nil)) == "adef")
        #expect(String(Array("xya").lastRound(through: "a", nil)) == "a")
        #expect(Array("xy").lastRound(through: "a", nil).isEmpty)
    }

    /// Compares with a definition that takes cubic time.
    @Test("Random sequences have the cycle that the definition says")
    func randomSequences() {
        var random = SplitMix(1)
        for _ in 0..<3000 {
            let sequence = (0..<(2 + random.below(14))).map { _ in random.below(3) }
            let element = sequence.last!
            let total = sequence.count { $0 == element }
            let expected = (1...(sequence.count / 2)).first { period in
                (2 * period...sequence.count).contains { length in
                    let end = Array(sequence.suffix(length))
                    let covered = end.count { $0 == element }
                    return end.indices.allSatisfy { $0 < period || end[$0] == end[$0 - period] }
                        && 2 * covered >= total && covered >= 2
                }
            }
            #expect(RepeatingCycle.shortest(at: sequence, through: element)?.period == expected, "\(sequence)")
        }
    }
}
