import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Queues of plain memory, beside an array.
@Suite(.timeBound) struct ChunkedQueueTests {
    private final class Element {
        let number: Int
        private let alive: Count

        init(_ number: Int, _ alive: Count) {
            (self.number, self.alive) = (number, alive)
            alive.up()
        }

        deinit { alive.upBy(-1) }
    }

    @Test("Random appends and removals leave what they leave in an array", arguments: [1, 3, 40, 1_000])
    func besideArray(usual count: Int) {
        var random = SplitMix(UInt64(count))
        let alive = Count()
        do {
            var queue = ChunkedQueue<Element>()
            var expected: [Int] = []
            for number in 0..<20_000 {
                // About `count` elements stay in it, and now and then none.
                let grows = random.below(2 * count + 2) >= expected.count && !random.once(in: 5 * count + 50)
                if grows {
                    queue.append(Element(number, alive))
                    expected.append(number)
                } else if random.once(in: 5) {
                    while !expected.isEmpty { #expect(queue.removeFirst().number == expected.removeFirst()) }
                } else if !expected.isEmpty {
                    let isLast = random.once(in: 3)
                    let removed = isLast ? expected.removeLast() : expected.removeFirst()
                    #expect((isLast ? queue.removeLast() : queue.removeFirst()).number == removed)
                }
                if queue.count != expected.count || alive.value != expected.count { Issue.record("count") }
                guard let first = expected.first, let last = expected.last else { continue }
                if queue.first.number != first || queue.last.number != last { Issue.record("ends") }
                let index = random.below(expected.count)
                if queue[index].number != expected[index] { Issue.record("element \(index)") }
            }
        }
        #expect(alive.value == 0)
    }

    @Test("A ring gives back memory, and keeps what is in it", arguments: [0, 5, 90])
    func ring(kept: Int) {
        var ring = RingQueue<Int>()
        for number in 0..<10_000 { ring.append(number) }
        for number in 0..<(10_000 - kept) { #expect(ring.removeFirst() == number) }
        for number in 0..<kept { #expect(ring[number] == 10_000 - kept + number) }
        ring.append(10_000)
        #expect(ring.count == kept + 1 && ring.last == 10_000 && ring.removeLast() == 10_000)
    }

    @Test("A ring aligns its elements, and returns all of them in their order")
    func alignment() {
        var ring = RingQueue<SIMD8<Double>>()
        for number in 0..<30 { ring.append(SIMD8(repeating: Double(number))) }
        for _ in 0..<20 { ring.append(ring.removeFirst()) }
        #expect(ring.takeFirst()?[7] == 20)
        #expect(ring.takeAll().map { Int($0[0]) } == Array(21..<30) + Array(0..<20))
        #expect(ring.isEmpty && ring.takeFirst() == nil && ring.takeAll().isEmpty)
    }
}
