import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Pauses between attempts: numbers are exact.
@Suite(.timeBound) struct BackoffTests {
    private typealias Backoff = Loop.Backoff

    private func pauses(_ count: Int, of backoff: inout Loop.Backoff) -> [Duration] {
        (0..<count).map { _ in backoff.next() }
    }

    @Test("Each pause is longer than the one before, up to the maximum, until a success")
    func example() {
        var backoff = Backoff(from: .milliseconds(100), to: .seconds(1))
        let first: [Duration] = [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)]
        #expect(pauses(6, of: &backoff) == first + [.seconds(1), .seconds(1)])
        backoff.reset()
        #expect(pauses(4, of: &backoff) == first)
        var slow = Backoff(from: .seconds(1), to: .seconds(4), factor: 1.5)
        #expect(pauses(5, of: &slow) == [.seconds(1), .seconds(1.5), .seconds(2.25), .seconds(3.375), .seconds(4)])
    }

    @Test("What makes no sense counts as the nearest that does")
    func misuse() {
        for factor in [-1, 0, 0.5, 1, .nan] {
            var backoff = Backoff(from: .seconds(1), factor: factor)
            #expect(pauses(3, of: &backoff) == Array(repeating: .seconds(1), count: 3) && backoff.factor == 1)
        }
        var negative = Backoff(from: .seconds(-1), to: .seconds(-2))
        #expect(pauses(2, of: &negative) == [.zero, .zero] && negative.maximum == .zero)
        var short = Backoff(from: .seconds(5), to: .seconds(1))
        #expect(pauses(2, of: &short) == [.seconds(5), .seconds(5)] && short.maximum == .seconds(5))
        var endless = Backoff(from: .nanoseconds(1), to: .seconds(Int64.max), factor: .infinity)
        #expect(pauses(3, of: &endless) == [.nanoseconds(1), .nanoseconds(Int64.max), .nanoseconds(Int64.max)])
        #expect(Backoff(jitter: .nan).jitter == 0 && Backoff(jitter: -1).jitter == 0 && Backoff(jitter: 7).jitter == 1)
    }

    @Test("Chance takes off a part of each pause, the same for the same generator", arguments: [0.1, 0.5, 1])
    func jitter(_ jitter: Double) {
        var (backoff, plain) = (Backoff(jitter: jitter), Backoff())
        var (random, again) = (SplitMix(1), SplitMix(1))
        var other = backoff
        var parts: [Double] = []
        for _ in 0..<200 {
            let (pause, longest) = (backoff.next(using: &random), plain.next())
            parts.append(1 - pause / longest)
            #expect(pause == other.next(using: &again))
        }
        #expect(parts.allSatisfy { $0 >= -1e-6 && $0 <= jitter + 1e-6 })
        #expect(parts.max()! > jitter * 0.9 && parts.min()! < jitter * 0.1)
    }

    @Test("A pause of a few nanoseconds grows with any factor, too")
    func smallPauses() {
        var backoff = Backoff(from: .nanoseconds(1), to: .nanoseconds(4), factor: 1.01)
        #expect(pauses(5, of: &backoff) == [1, 2, 3, 4, 4].map { Duration.nanoseconds($0) })
        var zero = Backoff(from: .zero, factor: 3)
        #expect(pauses(3, of: &zero) == [.zero, .zero, .zero])
    }
}
