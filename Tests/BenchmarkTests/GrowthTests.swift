import Foundation
import TestSupport
import Testing

@testable import RunLoopBenchmarks

/// The verdict on how a cost grows.
@Suite(.timeBound) struct GrowthTests {
    private func verdict(_ cost: (Double) -> Double) -> String {
        Growth([10, 1_000, 10_000, 100_000].map { (size: $0, nanoseconds: cost(Double($0))) }).verdict
    }

    @Test("Costs are told apart by how they grow")
    func verdicts() {
        #expect(verdict { _ in 500 } == "constant")
        #expect(verdict { number in 100 * log(number) } == "logarithmic")
        #expect(verdict { number in 20 * number } == "linear")
        #expect(verdict { number in number * number } == "quadratic")
    }

    @Test("A linear cost shows behind a fixed one")
    func fixedCost() { #expect(verdict { number in 5_000 + 2 * number } == "linear") }

    @Test("One wrong measurement does not change the verdict of three")
    func outlier() {
        #expect(verdict { number in number == 10 ? 90_000 : 500 } == "constant")
    }
}
