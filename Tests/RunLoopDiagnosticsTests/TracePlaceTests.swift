import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// What diagnostics call the blocks, timers and sources of a program: by its places and labels, not by the library's.
@Suite(.timeBound) struct TracePlaceTests {
    /// The names of the handlers of one kind that a loop has called.
    private func names(_ trace: LoopTrace, _ kind: Loop.HandlerKind) -> Set<String> {
        Set(trace.handlers.map(\.handler).filter { $0.kind == kind }.map(\.name))
    }

    private static let file: String = #fileID

    @Test("A block that a thread or a pool runs has the place of the call, or its label")
    func blocksOfThreads() async throws {
        let (thread, pool, tracer) = (try LoopThread(name: "places"), try LoopThreadPool(count: 1), LoopTracer())
        for loop in [thread.loop, pool.loops[0]] { tracer.attach(to: loop) }
        // Not in an asynchronous context.
        func wait(line: UInt = #line, label: String? = nil) throws {
            try thread.performAndWait(label: label, line: line) {}
        }
        try wait(line: 1)
        try await thread.run(line: 2) {}
        thread.perform(line: 3) {}
        pool.perform(line: 4) {}
        pool.perform(for: 7, line: 5) {}
        try await pool.run(line: 6) {}
        try await pool.run(for: 7, line: 7) {}
        try wait(label: "waits")
        try await thread.run(label: "suspends") {}
        pool.perform(label: "pool") {}
        try await pool.run(label: "pool suspends") {}
        try wait(label: "last")
        let names = names(tracer.snapshot(), .block)
        #expect(names.isSuperset(of: (1...7).map { "(\(Self.file):\($0))" }))
        #expect(names.isSuperset(of: ["waits", "suspends", "pool", "pool suspends"].map { "\"\($0)\"" }))
        #expect(names.allSatisfy { !$0.hasPrefix("(RunLoopKit/") }, "\(names)")
    }

    @Test("A limiter's timer has the limiter's kind, and its label or the place where it was made")
    func timersOfLimiters() {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        let (interval, acted) = (Duration.seconds(1), Count())
        let save = Debounce<Int>(interval: interval, on: loop, label: "save") { _ in acted.up() }
        let search = Debounce<Int>.collecting(interval: interval, on: loop, line: 1) { _ in acted.up() }
        let scroll = Throttle<Int>(interval: interval, edges: .trailing, on: loop, line: 2) { _ in acted.up() }
        let draw = Throttle<Int>.collecting(interval: interval, on: loop, label: "draw") { _ in acted.up() }
        let keyed = KeyedDebounce<Int, Int>(interval: interval, on: loop, line: 3) { _, _ in acted.up() }
        let asynchronous = AsyncLimiter<Int, Void>.debounce(interval: interval, on: loop, line: 4) { _ in }
        for limiter in [save, search, scroll, draw] { limiter(1) }
        draw(2)
        keyed(1, for: 1)
        asynchronous(1)
        loop.run(mode: .default, for: .seconds(5))
        #expect(
            names(tracer.snapshot(), .timer) == [
                "debounce timer \"save\"", "debounce timer (\(Self.file):1)", "throttle timer (\(Self.file):2)",
                "throttle timer \"draw\"", "debounce timer (\(Self.file):3)", "debounce timer (\(Self.file):4)",
            ])
        #expect(acted.value == 6)
    }

    @Test("An action that a limiter hands over has the limiter's label or place")
    func blocksOfLimiters() throws {
        let (thread, tracer) = (try LoopThread(name: "limited"), LoopTracer())
        tracer.attach(to: thread.loop)
        let save = Throttle<Int>(interval: .seconds(1000), on: thread.loop, label: "save") { _ in }
        let load = Throttle<Int>(interval: .seconds(1000), on: thread.loop, line: 1) { _ in }
        for limiter in [save, load] { limiter(1) }
        try thread.performAndWait(label: "last") {}
        #expect(names(tracer.snapshot(), .block).isSuperset(of: ["\"save\"", "(\(Self.file):1)"]))
    }

    @Test("An item has the label that its initializer got, until it gets another one")
    func itemLabels() throws {
        let ends = Ends.pipe()
        ends.isWriterClosed = true
        let items: [Loop.Item] = [
            Loop.Timer(after: .zero, label: "a") { _ in }, Loop.Timer(at: .distantFuture, label: "a") { _ in },
            Loop.Timer(every: .seconds(1), label: "a") { _ in }, Loop.Source0(label: "a") {},
            Loop.Observer(label: "a") { _, _ in }, try Loop.PortSource(label: "a") { _ in },
            Loop.MessagePort<Int>(label: "a") { _ in },
            try Loop.FileDescriptorSource(ends.reader, label: "a") { _, _ in },
            try Loop.FileDescriptorSource(owning: ends.writer, label: "a") { _, _ in },
        ]
        for item in items {
            #expect(item.label == "a" && item.name == "\(item.kind) \"a\"")
            item.label = "b"
            #expect(item.name == "\(item.kind) \"b\"")
            item.label = nil
            #expect(item.name.hasPrefix("\(item.kind) (\(Self.file):"))
        }
        for item in items { item.invalidate() }
    }
}
