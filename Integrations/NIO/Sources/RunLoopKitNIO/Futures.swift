public import NIOCore
public import RunLoopKit
import Synchronization

extension EventLoopFuture where Value: Sendable {
    /// Calls `body` with the result of this future on a loop: one hop from the future's event loop, and no promise of
    /// its own, as `hop(to:)` would make.
    ///
    /// ```swift
    /// channel.writeAndFlush(answer).whenComplete(on: worker.loop) { result in log(result) }
    /// ```
    ///
    /// - Parameters:
    ///   - loop: If it has ended when the future is completed, `body` is dropped. It is released on the thread of the
    ///     future's event loop then.
    ///   - mode: The mode in which the loop must run.
    ///   - label, file, line: As in `Loop.perform(in:wake:label:file:line:_:)`.
    ///   - body: Called on the loop's thread.
    public func whenComplete(
        on loop: Loop, in mode: Loop.Mode = .common, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, _ body: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        whenComplete { result in
            loop.perform(in: mode, label: label, file: file, line: line) { body(result) }
        }
    }
}

extension Loop {
    /// Runs a block on this loop, and completes a future of `eventLoop` with its result: one hop there, and one back.
    ///
    /// ```swift
    /// func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    ///     let query = unwrapInboundIn(data)
    ///     let answer = database.loop.submit(from: context.eventLoop) { try lookUp(query) }
    ///     answer.assumeIsolated().whenSuccess { context.writeAndFlush(self.wrapOutboundOut($0), promise: nil) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - eventLoop: On which the callbacks of the future run.
    ///   - mode: The mode in which the loop must run.
    ///   - label, file, line: As in `Loop.perform(in:wake:label:file:line:_:)`.
    ///   - block: Called on the loop's thread.
    /// - Returns: A future that fails with what the block throws, or with `EventLoopError.shutdown` if the loop has
    ///   ended or ends before it runs the block.
    public func submit<Value: Sendable>(
        from eventLoop: any EventLoop, in mode: Mode = .common, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, _ block: @escaping @Sendable () throws -> Value
    ) -> EventLoopFuture<Value> {
        let answer = Answer(eventLoop.makePromise(of: Value.self))
        // Refused, the future fails.
        _ = performCancellable(in: mode, label: label, file: file, line: line) {
            let result = Result(catching: block)
            answer.take().completeWith(result)
        }
        return answer.futureResult
    }
}

/// A promise that fails when the block that is to complete it is refused or dropped.
final class Answer<Value>: Sendable {
    private let promise: EventLoopPromise<Value>
    /// Relaxed: releasing the last reference comes after all that other references did.
    private let isTaken = Atomic(false)

    init(_ promise: EventLoopPromise<Value>) { self.promise = promise }

    // To fail a promise that is complete would do nothing, but take another hop.
    deinit { if !isTaken.load(ordering: .relaxed) { promise.fail(EventLoopError.shutdown) } }

    var futureResult: EventLoopFuture<Value> { promise.futureResult }

    /// Returns the promise to a caller that completes it.
    @discardableResult
    func take() -> EventLoopPromise<Value> {
        isTaken.store(true, ordering: .relaxed)
        return promise
    }
}
