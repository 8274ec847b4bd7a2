import RunLoopKit
import Subprocess
import TestSupport
import Testing

/// A process source beside swift-subprocess, which reaps its children itself.
@Suite(.timeBound) struct SideBySideTests {
    @Test("A source that does not reap reports the exit of a child of swift-subprocess")
    func exit() async throws {
        let thread = try LoopThread(name: "watcher")
        let result = try await run(
            .path("/bin/sh"), arguments: ["-c", "exit 3"], input: .none, output: .discarded, error: .discarded
        ) {
            execution in
            // The child is not reaped before this closure returns.
            try await exit(of: execution.processIdentifier.value, on: thread.loop)
        }
        #expect(result.closureResult == .exited(3))
        #expect(result.terminationStatus == .exited(3))
    }

    private func exit(of process: Int32, on loop: Loop) async throws -> Loop.ProcessSource.Exit {
        let (exits, continuation) = AsyncStream<Loop.ProcessSource.Exit>.makeStream()
        let source = try Loop.ProcessSource(process, reaping: false) { continuation.yield($1) }
        loop.add(source, in: .default)
        for await exit in exits { return exit }
        return .unknown
    }
}
