import NIOCore
import RunLoopKit

/// A connection: an actor on a loop of a pool. All of its code runs on that loop's thread, and may block it without
/// delaying the connections of other threads, or the event loops.
///
/// It answers each line with its number and its length, and counts the lines of all sessions of its thread.
actor Session {
    /// Retained, so that the loop's thread lives as long as the session.
    private let pool: LoopThreadPool
    private nonisolated let loop: Loop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let channel: any Channel
    private var unfinished = ByteBuffer()
    private var lineCount = 0

    init(of channel: any Channel, in pool: LoopThreadPool) {
        self.channel = channel
        self.pool = pool
        loop = pool.loop(for: ObjectIdentifier(channel))
    }

    /// Hands work over from the channel's event loop: one hop, in order. A task
    /// would take more, and have no order.
    nonisolated func post(
        _ work: @escaping @Sendable (isolated Session) -> Void
    ) {
        let posted = loop.performCancellable(in: .common) {
            self.assumeIsolated(work)
        }
        // The pool was stopped: what the channel reads would be lost.
        if posted == nil { channel.close(promise: nil) }
    }

    func receive(_ bytes: ByteBuffer) {
        var bytes = bytes
        unfinished.writeBuffer(&bytes)
        var answers = ByteBuffer()
        while let end = unfinished.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
            let length = end - unfinished.readerIndex
            unfinished.moveReaderIndex(forwardBy: length + 1)
            lineCount += 1
            answers.writeString("line \(lineCount) has \(length) bytes\n")
        }
        unfinished.discardReadBytes()
        // One hop back for both: the answers, and the permission to read on.
        channel.eventLoop.execute { [channel, answers] in
            if answers.readableBytes > 0 {
                channel.writeAndFlush(answers, promise: nil)
            }
            channel.read()
        }
    }
}

/// Hands what a channel reads to its session. The channel reads on when the session has answered, so a busy session
/// slows its client down, and the queue of its loop stays short.
final class SessionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let session: Session

    init(_ session: Session) { self.session = session }

    func channelActive(context: ChannelHandlerContext) { context.read() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        session.post { $0.receive(bytes) }
    }
}
