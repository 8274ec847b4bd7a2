import NIOCore
import NIOPosix
import RunLoopDiagnostics
import RunLoopKit
import RunLoopKitNIO
import Testing

@Suite(.timeLimit(.minutes(1))) struct FutureTests {
    private struct Failure: Error {}

    /// How often work was handed to each of the loops that a tracer is attached to.
    private func handovers(of tracer: LoopTracer) -> [String: Int] {
        let trace = tracer.snapshot()
        var counts: [String: Int] = [:]
        for event in trace.events {
            if case .handedOver = event.kind, let loop = event.loop { counts[trace.loops[loop], default: 0] += 1 }
        }
        return counts
    }

    @Test("A future of a NIO event loop is completed on a loop, by either way")
    func completion() async throws {
        let thread = try LoopThread(name: "worker")
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let (places, continuation) = AsyncStream.makeStream(of: Bool.self)
        let future = eventLoop.submit { 42 }
        future.whenComplete(on: thread.loop) { result in
            continuation.yield(thread.isCurrent && (try? result.get()) == 42)
        }
        future.hop(to: LoopEventLoop(thread.loop)).whenSuccess { continuation.yield(thread.isCurrent && $0 == 42) }
        var iterator = places.makeAsyncIterator()
        #expect(await iterator.next() == true)
        #expect(await iterator.next() == true)
    }

    @Test("Work for a loop takes one hop there and one hop back")
    func hops() async throws {
        let (work, back) = (try LoopThread(name: "work"), try LoopThread(name: "back"))
        let eventLoop = LoopEventLoop(back.loop)
        let tracer = LoopTracer()
        tracer.attach(to: work.loop)
        tracer.attach(to: back.loop)
        for number in 0..<10 {
            let (answers, continuation) = AsyncStream.makeStream(of: Int.self)
            // On the event loop, as in a channel handler.
            try await back.run {
                let answer = work.loop.submit(from: eventLoop) { number }
                answer.assumeIsolated().whenSuccess { continuation.yield(back.isCurrent ? $0 : -1) }
            }
            var iterator = answers.makeAsyncIterator()
            #expect(await iterator.next() == number)
        }
        // Of ten, the block of the test that calls `submit` is one in two.
        #expect(handovers(of: tracer) == ["work": 10, "back": 20])
    }

    @Test("A callback on a loop takes one hop")
    func hopsOfCallbacks() async throws {
        let (work, back) = (try LoopThread(name: "work"), try LoopThread(name: "back"))
        let eventLoop = LoopEventLoop(back.loop)
        let tracer = LoopTracer()
        tracer.attach(to: work.loop)
        tracer.attach(to: back.loop)
        try await back.run {
            let promise = eventLoop.makePromise(of: Void.self)
            promise.futureResult.whenComplete(on: work.loop) { _ in }
            promise.succeed()
        }
        try await work.run {}
        #expect(handovers(of: tracer) == ["work": 2, "back": 1])
    }

    @Test("Work that throws, and work for a loop that has ended, fails its future")
    func failures() async throws {
        let thread = try LoopThread(name: "worker")
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let failing = thread.loop.submit(from: eventLoop) { () throws -> Int in throw Failure() }
        await #expect(throws: Failure.self) { try await failing.get() }
        // In a mode in which the loop does not run, so dropped when it ends.
        let dropped = thread.loop.submit(from: eventLoop, in: "never") { 1 }
        thread.stop(discardingPending: true)
        await #expect(throws: EventLoopError.shutdown) { try await dropped.get() }
        let refused = thread.loop.submit(from: eventLoop) { 1 }
        await #expect(throws: EventLoopError.shutdown) { try await refused.get() }
    }
}
