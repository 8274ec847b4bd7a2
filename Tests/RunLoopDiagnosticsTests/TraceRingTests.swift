import Foundation
import LoopTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// A model of one slot of the ring: three writers, whose events all belong into it, and a reader of one of the events.
///
/// The explorer takes every path through their atomic steps, in the writers' order of numbers or any other, and
/// searches for a read that returns words of two events, or of another event.
private struct RingModel: Hashable {
    /// Mistakes in the protocol, which the explorer must find.
    enum Mistake: CaseIterable { case none, claimByStore, claimBusySlot, markBeforeWords, oneRead, wordsBeforeClaim }

    static let writerCount = 3

    struct Writer: Hashable {
        var steps = 0
        var found = 0
        var hasDropped = false
    }

    var mark = 0
    var words = [-1, -1]
    var writers = Array(repeating: Writer(), count: writerCount)
    var readerStep = 0
    var read = [-1, -1]
    let readNumber: Int
    var isTorn = false
    var hasRead = false

    init(reading number: Int) { readNumber = number }

    private static func mark(of number: Int) -> Int { (number + 1) * 2 }

    /// The states that follow when writer `number` takes a step.
    func write(_ number: Int, _ mistake: Mistake) -> RingModel? {
        var next = self
        let writer = writers[number]
        guard writer.steps < 5, !writer.hasDropped else { return nil }
        next.writers[number].steps += 1
        let order: [Int] =
            switch mistake {
            case .markBeforeWords: [0, 1, 4, 2, 3]
            case .wordsBeforeClaim: [2, 0, 1, 3, 4]
            default: [0, 1, 2, 3, 4]
            }
        switch order[writer.steps] {
        case 0:  // Reads the mark.
            next.writers[number].found = mark
            let isBusy = mark & 1 == 1 && mistake != .claimBusySlot
            if isBusy || mark >= RingModel.mark(of: number) { next.writers[number].hasDropped = true }
        case 1:  // Swaps in its odd mark.
            if mark == writer.found || mistake == .claimByStore {
                next.mark = RingModel.mark(of: number) | 1
            } else {
                next.writers[number].hasDropped = true
            }
        case 2: next.words[0] = number
        case 3: next.words[1] = number
        default: next.mark = RingModel.mark(of: number)
        }
        return next
    }

    /// The state that follows when the reader takes a step.
    func read(_ mistake: Mistake) -> RingModel? {
        var next = self
        next.readerStep += 1
        switch readerStep {
        case 0: if mark != RingModel.mark(of: readNumber) { next.readerStep = 4 }
        case 1: next.read[0] = words[0]
        case 2: next.read[1] = words[1]
        case 3:
            guard mark == RingModel.mark(of: readNumber) || mistake == .oneRead else { break }
            next.hasRead = true
            next.isTorn = next.read != [readNumber, readNumber]
        default: return nil
        }
        return next
    }
}

@Suite(.timeBound) struct TraceRingTests {
    /// Visits every reachable state.
    private func explore(_ mistake: RingModel.Mistake) -> (states: Int, tears: Bool, reads: Bool) {
        var seen: Set<RingModel> = []
        var open = (0..<RingModel.writerCount).map { RingModel(reading: $0) }
        var (tears, reads) = (false, false)
        while let state = open.popLast() {
            guard seen.insert(state).inserted else { continue }
            tears = tears || state.isTorn
            reads = reads || state.hasRead
            open += (0..<RingModel.writerCount).compactMap { state.write($0, mistake) }
            if let next = state.read(mistake) { open.append(next) }
        }
        return (seen.count, tears, reads)
    }

    @Test("No interleaving returns a torn event")
    func everyInterleaving() {
        let result = explore(.none)
        #expect(result.states > 1000)
        #expect(result.reads && !result.tears)
    }

    @Test("The explorer finds mistakes", arguments: RingModel.Mistake.allCases.filter { $0 != .none })
    private func explorerFindsMistakes(_ mistake: RingModel.Mistake) { #expect(explore(mistake).tears) }

    private func words(_ value: UInt64) -> TraceRing.Words { (value, value, value, value, value, value, value) }

    private func isWhole(_ words: TraceRing.Words) -> Bool {
        [words.1, words.2, words.3, words.4, words.5, words.6].allSatisfy { $0 == words.0 }
    }

    @Test("A new event overwrites the oldest")
    func overwriting() {
        let ring = TraceRing(capacity: 5)
        #expect(ring.capacity == 8)
        for number in 0..<UInt64(20) { ring.write(words(number)) }
        #expect(ring.writtenCount == 20)
        #expect((0..<12).allSatisfy { ring.read($0) == nil })
        #expect((12..<20).allSatisfy { ring.read($0)?.0 == $0 })
        #expect(ring.read(20) == nil)
    }

    @Test("A writer drops its event when the slot is busy or has a later event")
    func dropping() {
        let ring = TraceRing(capacity: 1)
        let (slow, other, last) = (ring.takeNumber(), ring.takeNumber(), ring.takeNumber())
        #expect(ring.claim(slow))
        #expect(!ring.claim(other), "busy")
        ring.store(words(slow), of: slow)
        #expect(ring.read(slow) == nil, "not whole yet")
        ring.finish(slow)
        #expect(ring.read(slow) != nil && ring.read(other) == nil)
        #expect(ring.claim(last))
        ring.store(words(last), of: last)
        ring.finish(last)
        #expect(!ring.claim(other), "lapped")
        #expect(ring.read(slow) == nil && ring.read(last)?.0 == last)
    }

    /// On the real implementation: what a reader returns is whole, and of the right number.
    @Test("Many threads write while one reads")
    func stress() throws {
        let ring = TraceRing(capacity: 16)
        let done = Count()
        let writers = try (0..<4).map { _ in
            try System.startThread(stackSize: nil) {
                for _ in 0..<20_000 {
                    let number = ring.takeNumber()
                    guard ring.claim(number) else { continue }
                    ring.store((number, number, number, number, number, number, number), of: number)
                    ring.finish(number)
                }
                done.up()
            }
        }
        var last: UInt64 = 0
        repeat {
            let end = ring.writtenCount
            #expect(end >= last)
            last = end
            for number in (end > 16 ? end - 16 : 0)..<end {
                guard let words = ring.read(number) else { continue }
                if !isWhole(words) || words.0 != number { Issue.record("torn: \(words)") }
            }
        } while done.value < 4
        for writer in writers { System.join(writer) }
        #expect(ring.writtenCount == 80_000)
        // A thread that writes without company loses nothing, also in a slot whose last event was dropped.
        for number in 80_000..<UInt64(80_016) {
            ring.write(words(number))
            #expect(ring.read(number)?.0 == number)
        }
    }

    /// In a process of its own, in which no other test takes memory.
    @Test("A tracer of the largest capacity takes memory only for the events that happen")
    func largestCapacity() async {
        await #expect(processExitsWith: .success) {
            let (loop, clock) = Loop.inVirtualTime()
            let before = Kernel.residentBytes
            let tracer = LoopTracer(capacity: .max, clock: clock)
            tracer.attach(to: loop)
            loop.perform {}
            loop.run(mode: .default, for: .zero)
            guard tracer.capacity == LoopTracer.maximumCapacity else { exit(1) }
            guard !tracer.snapshot().events.isEmpty, tracer.snapshot().lostEventCount == 0 else { exit(2) }
            guard Kernel.residentBytes - before < 64 << 20 else { exit(3) }
        }
        #expect(LoopTracer(capacity: -1).capacity == 16 && LoopTracer(capacity: 17).capacity == 32)
    }
}
