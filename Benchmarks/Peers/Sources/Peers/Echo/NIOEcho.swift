import NIOCore
import NIOPosix

/// A channel for each connection, with one handler.
enum NIOEcho {
    private nonisolated(unsafe) static var channels: [any Channel] = []

    static func start(_ listening: Int32) throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        channels.append(
            try ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 1_024)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(EchoHandler())
                    }
                }
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .withBoundSocket(listening).wait())
    }
}

private final class EchoHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(wrapOutboundOut(unwrapInboundIn(data)), promise: nil)
    }
}
