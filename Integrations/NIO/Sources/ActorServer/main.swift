// A NIO server whose sessions are actors on loops, and a client of it.
import NIOCore
import NIOPosix
import RunLoopKit
import RunLoopKitNIO

let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let pool = try LoopThreadPool(count: 2, options: .init(name: "sessions"))

/// On the main actor, and so on the main loop.
@MainActor func serve() async throws {
    let server = try await Server.start(on: group, sessionsOn: pool)
    print(try await server.answer(to: "one\nthree\n"), terminator: "")
    // A future of NIO, completed on a loop.
    server.channel.closeFuture.whenComplete(on: pool.loops[0]) { [pool] _ in
        print("closed; on a session's thread: \(pool.isCurrent)")
    }
    try await server.channel.close()
    try await group.shutdownGracefully()
    pool.stop()
    try await pool.waitForEnd()
}

try Loop.runMain { try await serve() }
print("ended")
