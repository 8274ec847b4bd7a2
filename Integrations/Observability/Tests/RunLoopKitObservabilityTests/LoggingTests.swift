import InMemoryLogging
import Logging
import RunLoopDiagnostics
import RunLoopKit
import RunLoopKitObservability
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoggingTests {
    private let handler: InMemoryLogHandler
    private let logger: Logger

    init() {
        let handler = InMemoryLogHandler()
        self.handler = handler
        logger = Logger(label: "tests", factory: { _ in handler })
    }

    @Test("Each mistake is logged as a warning, with its kind")
    func mistakes() throws {
        let error = try #require(throws: LoopError.self) { try Loop.Listener(.unix("/nowhere/socket")) }
        let mistakes: [Loop.Mistake] = [
            .refusedItem(item: "timer", reason: .itemIsInvalid), .loopThatNeverRuns(item: "block"),
            .droppedThread(name: "worker", items: ["timer"]), .runInCommonModes, .mainLoopWithoutThread,
            .jobsOfEndedLoop(thread: "worker"), .rulesNotApplied(fault: "fault"),
            .emptyRun(mode: .default, others: [.tracking]), .droppedLimiter(limiter: "debounce"),
            .refusedMessage(port: "message port", capacity: 1), .refusedCall(limiter: "debounce"),
            .descriptorLeftReady(source: "descriptor", ready: "readable"), .lostSignals(source: "signal", count: 2),
            .neverAdded(item: "timer"), .mainLoopThatNeverRuns(item: "debounce"),
            .pausedListener(listener: "listener", error: error), .leftMessages(port: "message port", count: 1),
            .stopBeforeRun(thread: "worker"), .mainBodyEndsAtOnce(items: ["timer"]),
            .advanceWithoutRun(thread: "worker"), .refusedBlock(block: "block", thread: "worker"),
            .unreadOutput(connection: "connection"), .resetConnections(listener: "listener", error: error),
            .mainBodyGoesOn,
        ]
        // The handling is one for the process, so this calls what it would call.
        guard case .call(let call) = Loop.MistakeHandling.logging(to: logger) else {
            Issue.record("a handling that calls nothing")
            return
        }
        for mistake in mistakes { call(mistake) }
        #expect(handler.entries.map(\.message) == mistakes.map { "\($0)" })
        #expect(handler.entries.allSatisfy { $0.level == .warning })
        let kinds: [Logger.Metadata.Value?] = [
            "refusedItem", "loopThatNeverRuns", "droppedThread", "runInCommonModes", "mainLoopWithoutThread",
            "jobsOfEndedLoop", "rulesNotApplied", "emptyRun", "droppedLimiter", "refusedMessage", "refusedCall",
            "descriptorLeftReady", "lostSignals", "neverAdded", "mainLoopThatNeverRuns", "pausedListener",
            "leftMessages", "stopBeforeRun", "mainBodyEndsAtOnce", "advanceWithoutRun", "refusedBlock", "unreadOutput",
            "resetConnections", "mainBodyGoesOn",
        ]
        #expect(handler.entries.map { $0.metadata["runloop.mistake"] } == kinds)
    }

    @Test("A stall is logged while it lasts, with what stalls the loop, and when it has ended")
    func stalls() async throws {
        let thread = try LoopThread(name: "stalled")
        let monitor = try StallMonitor(
            thresholds: [.milliseconds(1)], signal: nil, handler: StallMonitor.logging(to: logger))
        monitor.watch(thread)
        let handler = handler
        try await thread.run(label: "slow") { while handler.entries.isEmpty {} }
        while handler.entries.count < 2 { await Task.yield() }
        let (warning, notice) = (handler.entries[0], handler.entries[1])
        #expect(warning.level == .warning && warning.metadata["runloop.loop"] == "stalled")
        #expect("\(warning.metadata["runloop.handler"]!)".contains("slow"))
        #expect(notice.level == .notice && notice.metadata["runloop.stall"] == warning.metadata["runloop.stall"])
    }

    @Test("A feedback loop is logged as a warning")
    func feedbackLoops() {
        final class Panel: Sendable {}
        let loop = Loop(clock: VirtualClock())
        let detector = FeedbackLoopDetector(on: loop, threshold: 10, actions: [.logging(to: logger)])
        let panel = Panel()
        loop.perform { for _ in 0..<20 { detector.call("layout", of: panel) {} } }
        loop.run(mode: .default, for: .zero)
        #expect(handler.entries.map(\.level) == [.warning])
        #expect(handler.entries.first?.metadata["runloop.mode"] == "default")
    }

    /// Posts itself.
    private final class Circle: Sendable {
        let loop: Loop
        init(_ loop: Loop) { self.loop = loop }
        func post(_ count: Int) {
            if count > 0 { loop.perform(label: "circle") { self.post(count - 1) } }
        }
    }

    @Test("A trace logs its findings as warnings, and the longest stalls")
    func traces() {
        let clock = VirtualClock()
        let loop = Loop(clock: clock)
        let recorder = LoopTracer(clock: clock)
        recorder.attach(to: loop, as: "circular")
        Circle(loop).post(100)
        loop.run()
        recorder.snapshot().log(to: logger, stalls: 1)
        #expect(handler.entries.map(\.level) == [.warning, .info])
        #expect(handler.entries.first?.metadata["runloop.finding"] == "endless")
        #expect(handler.entries.allSatisfy { $0.metadata["runloop.loop"] == "circular" })
        #expect(handler.entries.allSatisfy { $0.metadata["runloop.handler"] == "block \"circle\"" })
    }
}
