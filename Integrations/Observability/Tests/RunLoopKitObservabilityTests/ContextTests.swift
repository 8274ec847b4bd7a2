import InMemoryTracing
import RunLoopKit
import RunLoopKitObservability
import Testing
import Tracing

@Suite(.timeLimit(.minutes(1))) struct ContextTests {
    private enum RequestKey: ServiceContextKey { typealias Value = String }

    private static var request: String? { ServiceContext.current?[RequestKey.self] }

    private static func inRequest<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
        var context = ServiceContext.topLevel
        context[RequestKey.self] = name
        return try ServiceContext.withValue(context) { try body() }
    }

    @Test("A block runs in the context in which it was posted, and leaves none behind")
    func posts() throws {
        let thread = try LoopThread(name: "worker")
        let found: String? = try Self.inRequest("first") {
            try thread.performAndWait(ServiceContext.carried { Self.request })
        }
        #expect(found == "first")
        #expect(try thread.performAndWait { Self.request } == nil)
        #expect(try Self.inRequest("second") { try thread.performAndWait { Self.request } } == nil)
    }

    @Test("A closure without a context runs without one, also where there is another")
    func noContext() {
        let block = ServiceContext.carried { Self.request }
        #expect(Self.inRequest("other") { block() } == nil)
    }

    @Test("A context reaches delayed blocks, timers, pools and closures that throw")
    func otherHandlers() async throws {
        struct Failure: Error, Equatable { let request: String? }
        let thread = try LoopThread(name: "worker", clock: VirtualClock())
        let pool = try LoopThreadPool(count: 2)
        let (requests, continuation) = AsyncStream.makeStream(of: String?.self)
        Self.inRequest("delayed") {
            _ = thread.perform(after: .seconds(3600), ServiceContext.carried { _ = continuation.yield(Self.request) })
        }
        let timer = Self.inRequest("timer") {
            let handler = ServiceContext.carried { (_: Loop.Timer.Firing) in _ = continuation.yield(Self.request) }
            return Loop.Timer(after: .seconds(7200), handler: handler)
        }
        thread.loop.add(timer, in: .common)
        var iterator = requests.makeAsyncIterator()
        #expect(await iterator.next() == "delayed")
        #expect(await iterator.next() == "timer")
        let throwing = Self.inRequest("pool") {
            ServiceContext.carried { () throws -> Void in throw Failure(request: Self.request) }
        }
        await #expect(throws: Failure(request: "pool")) { try await pool.run(throwing) }
    }

    @Test("Each message is handled in the context of its sender")
    func messages() {
        let loop = Loop(clock: VirtualClock())
        let handled = Loop.MessagePort<String> { _ in }
        let port = Loop.MessagePort<Carried<Int>> { message in
            message.withContext { number in _ = handled.send("\(number) of \(Self.request ?? "none")") }
        }
        loop.add(port, in: .default)
        Self.inRequest("first") { _ = port.send(Carried(1)) }
        Self.inRequest("second") { _ = port.send(Carried(2)) }
        port.send(Carried(3))
        loop.run(mode: .default, for: .zero)
        #expect(handled.takeWaiting() == ["1 of first", "2 of second", "3 of none"])
    }

    @Test("The span of a traced block is a child of the poster's, whatever runs around it")
    func tracedBlocks() throws {
        let tracer = InMemoryTracer()
        let thread = try LoopThread(name: "worker")
        try tracer.withSpan("request") { _ in
            try thread.performAndWait(
                traced("save", ofKind: .consumer, by: tracer) { tracer.withSpan("write") { _ in } })
        }
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == ["write", "save", "request"])
        let (write, save, request) = (spans[0], spans[1], spans[2])
        #expect(write.parentSpanID == save.spanID && save.parentSpanID == request.spanID)
        #expect(save.kind == .consumer && Set(spans.map(\.traceID)).count == 1)
        guard case .int64(let queued) = save.attributes["runloop.queued_ns"]?.toSpanAttribute() else {
            Issue.record("no time in the queue")
            return
        }
        #expect(queued >= 0)
    }

    @Test("The span of a traced block records the error that the block throws")
    func tracedErrors() async throws {
        struct Failure: Error {}
        let tracer = InMemoryTracer()
        let thread = try LoopThread(name: "worker")
        let failing = traced("fail", by: tracer) { () throws -> Void in throw Failure() }
        await #expect(throws: Failure.self) { try await thread.run(failing) }
        #expect(tracer.finishedSpans.map(\.errors.count) == [1])
        #expect(tracer.finishedSpans.first?.parentSpanID == nil)
    }
}
