import RunLoopKit
import Testing

/// The rows of the table in README.md.
@Suite(.timeLimit(.minutes(1))) struct DebounceComparisonTests {
    private typealias Delivery = DebounceStage.Delivery

    /// Plays events at times, in seconds, to both, and then waits for the end of the last burst.
    private func play(_ times: [Int], _ stage: DebounceStage, _ ours: Debounce<Int>) async {
        for (event, time) in times.enumerated() {
            await advance(stage, to: time)
            ours(event)
            await stage.give(event)
        }
        await advance(stage, to: (times.last ?? 0) + DebounceStage.interval)
    }

    /// Theirs has to deliver what ours has delivered.
    private func advance(_ stage: DebounceStage, to time: Int) async {
        await stage.advance(to: time) { _, theirs in theirs.count >= stage.ours.count }
    }

    @Test(
        "Both deliver the last event of each burst, one interval after it",
        arguments: [
            [0], [0, 3, 6], [0, 20], [0, 4, 30, 31, 39, 60], Array(stride(from: 0, to: 60, by: 6)),
            [1, 10, 21, 30, 41],
        ])
    func bursts(times: [Int]) async throws {
        let stage = try DebounceStage()
        let theirs = stage.startTheirs()
        await play(times, stage, stage.makeOurs())
        #expect(stage.theirs == stage.ours && stage.ours.last?.event == times.count - 1)
        await stage.finish()
        #expect(await theirs.value == nil)
    }

    @Test("The end of the events: theirs delivers what is pending at once; ours when it is released with .flush")
    func endOfEvents() async throws {
        let stage = try DebounceStage()
        let theirs = stage.startTheirs()
        do {
            let (discarding, flushing) = (stage.makeOurs(), stage.makeOurs(whenReleased: .flush))
            await advance(stage, to: 2)
            discarding(1)
            flushing(2)
            await stage.give(3)
            await advance(stage, to: 5)
        }
        await stage.finish()
        #expect(await theirs.value == nil)
        // The release hands the pending input to the loop.
        try await stage.loop.run {}
        #expect(stage.theirs == [Delivery(time: 5, event: 3)])
        #expect(stage.ours == [Delivery(time: 5, event: 2)])
    }

    @Test("An error of the events: theirs throws it at once, and drops what is pending; ours knows of no errors")
    func errors() async throws {
        let stage = try DebounceStage()
        let theirs = stage.startTheirs()
        await advance(stage, to: 2)
        await stage.give(1)
        await stage.fail()
        #expect(await theirs.value is DebounceStage.Failure)
        #expect(stage.theirs.isEmpty)
    }

    @Test("Events that never pause: ours acts with maxWait, theirs not before they end")
    func maxWait() async throws {
        let stage = try DebounceStage()
        let theirs = stage.startTheirs()
        let ours = stage.makeOurs(maxWait: .seconds(25))
        for (event, time) in stride(from: 0, to: 60, by: 4).enumerated() {
            await stage.advance(to: time) { _, _ in true }
            ours(event)
            await stage.give(event)
        }
        #expect(stage.theirs.isEmpty)
        #expect(stage.ours == [Delivery(time: 25, event: 6), Delivery(time: 50, event: 12)])
        await stage.finish()
        _ = await theirs.value
    }

    @Test("The leading edge: only ours has one")
    func leadingEdge() async throws {
        let stage = try DebounceStage()
        let theirs = stage.startTheirs()
        let ours = stage.makeOurs(edges: [.leading, .trailing])
        for (event, time) in [0, 3, 6].enumerated() {
            await stage.advance(to: time) { _, _ in true }
            ours(event)
            await stage.give(event)
        }
        await stage.advance(to: 16) { now, theirs in now < 16 || theirs.count == 1 }
        try await stage.loop.run {}
        #expect(stage.ours == [Delivery(time: 0, event: 0), Delivery(time: 16, event: 2)])
        #expect(stage.theirs == [Delivery(time: 16, event: 2)])
        await stage.finish()
        _ = await theirs.value
    }

    @Test("A consumer that is busy: ours acts on time on its loop, theirs delivers when the consumer asks again")
    func busyConsumer() async throws {
        let stage = try DebounceStage()
        let (isFree, release) = AsyncStream.makeStream(of: Never.self)
        let theirs = stage.startTheirs { event in if event == 0 { for await _ in isFree {} } }
        let ours = stage.makeOurs()
        ours(0)
        await stage.give(0)
        await stage.advance(to: 12) { now, theirs in now < 10 || theirs.count == 1 }
        // The consumer is busy with the first event.
        ours(1)
        await stage.giveWhileBusy(1)
        await stage.advance(to: 40) { _, _ in true }
        release.finish()
        await stage.waitForDeliveries(2)
        #expect(stage.ours == [Delivery(time: 10, event: 0), Delivery(time: 22, event: 1)])
        #expect(stage.theirs == [Delivery(time: 10, event: 0), Delivery(time: 40, event: 1)])
        await stage.finish()
        _ = await theirs.value
    }
}
