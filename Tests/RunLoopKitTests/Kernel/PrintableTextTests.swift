import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// No text for people contains a control character that came from a label or a name.
@Suite(.timeBound) struct PrintableTextTests {
    /// A thread's name has 15 bytes.
    private static let threadName = "t\u{1B}[2J\nINJ\u{7}\r"

    @Test("The descriptions of loops, items and modes, and what explains them")
    func loops() throws {
        let (loop, _) = Loop.inVirtualTime()
        let items = try OddText.items(on: loop)
        expectPrintable("\(OddText.mode)", "mode")
        #expect(OddText.mode.name.contains("\u{1B}"), "the name itself is exact")
        expectPrintable(loop.description, "loop")
        expectPrintable(loop.descriptionWithPatience, "loop, with patience")
        expectPrintable(Loop.dump, "dump")
        for item in items {
            expectPrintable(item.description, "item")
            expectPrintable(loop.explain(item).description, "explanation")
        }
        loop.perform(in: .default) {
            for item in items { expectPrintable(loop.explain(item).description, "explanation in a run") }
        }
        loop.run(mode: .default, for: .seconds(1))
        withExtendedLifetime(items) {}
    }

    @Test("Threads and pools, and the errors of those who wait for them")
    func threads() throws {
        let thread = try LoopThread(name: PrintableTextTests.threadName)
        let pool = try LoopThreadPool(count: 1, options: .init(name: PrintableTextTests.threadName))
        expectPrintable(thread.description, "thread")
        expectPrintable(pool.description, "pool")
        expectPrintable(thread.loop.description, "thread's loop")
        expectPrintable(try thread.performAndWait { Loop.current.threadName }, "name on the thread")
        for error in [
            Loop.NoAnswer.loopHasEnded(thread: OddText.name), .threadExited(thread: OddText.name),
            .timeIsUp(thread: OddText.name, hasBegun: false),
            .timeIsUp(thread: OddText.name, hasBegun: true),
        ] {
            expectPrintable("\(error)", "error")
        }
        expectPrintable("\(LoopThread.Stopped(thread: OddText.name))", "stopped")
        expectPrintable("\(LoopThread.Exited(thread: OddText.name))", "exited")
        thread.stop()
        thread.join()
    }

    @Test("Mistakes")
    func mistakes() throws {
        let (loop, _) = Loop.inVirtualTime()
        let item = try OddText.items(on: loop)[0]
        for mistake in [
            .refusedItem(item: item.name, reason: .itemIsInvalid), .loopThatNeverRuns(item: item.name),
            .droppedThread(name: OddText.name, items: [item.name]),
            .emptyRun(mode: OddText.mode, others: [OddText.mode]),
            .jobsOfEndedLoop(thread: OddText.name),
        ] as [Loop.Mistake] {
            expectPrintable("\(mistake)", "mistake")
        }
    }

    @Test("Limiters")
    func limiters() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let throttle = Throttle(
            interval: .seconds(1), on: loop, label: "l\u{1B}[2J\nINJECTED"
        ) { (_: Int) in }
        expectPrintable("\(throttle)", "limiter")
    }

    @Test("Text without control characters is not changed")
    func ordinaryText() {
        for text in ["", "timer \"x\"", "Größe 🙂 👩‍👩‍👧 \\ 日本語", "a\u{200D}b"] { #expect(text.printable == text) }
    }
}
