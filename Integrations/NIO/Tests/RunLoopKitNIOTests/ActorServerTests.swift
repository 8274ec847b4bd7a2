import NIOCore
import NIOPosix
import RunLoopKit
import Testing

@testable import ActorServer

@Suite(.timeLimit(.minutes(1))) struct ActorServerTests {
    @Test("Each client gets the answers of a session of its own, in order")
    func clients() async throws {
        let pool = try LoopThreadPool(count: 2)
        let server = try await Server.start(on: MultiThreadedEventLoopGroup.singleton, sessionsOn: pool)
        let lines = String(repeating: "four\n", count: 100)
        let expected = (1...100).map { "line \($0) has 4 bytes\n" }.joined()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await server.answer(to: lines) } }
            for try await answer in group { #expect(answer == expected) }
        }
        try await server.channel.close()
        pool.stop()
    }
}
