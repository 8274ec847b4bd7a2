import NIOCore
import NIOPosix
import RunLoopKit

/// A server on localhost: NIO's event loops do the input and output, the threads of a pool the work.
struct Server {
    let channel: any Channel
    var address: SocketAddress { channel.localAddress! }

    /// Listens on a port that the kernel chooses.
    static func start(on group: any EventLoopGroup, sessionsOn pool: LoopThreadPool) async throws -> Server {
        let bootstrap = ServerBootstrap(group: group)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let session = Session(of: channel, in: pool)
                    try channel.pipeline.syncOperations.addHandler(SessionHandler(session))
                }
            }
        return Server(channel: try await bootstrap.bind(host: "127.0.0.1", port: 0).get())
    }
}

extension Server {
    /// What the server answers to lines that a new client sends.
    func answer(to text: String) async throws -> String {
        let client = try await ClientBootstrap(group: channel.eventLoop).connect(to: address) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        let lineCount = text.count(where: \.isNewline)
        return try await client.executeThenClose { answers, questions in
            try await questions.write(ByteBuffer(string: text))
            var answer = ""
            for try await part in answers {
                answer += String(buffer: part)
                if answer.count(where: \.isNewline) == lineCount { break }
            }
            return answer
        }
    }
}
