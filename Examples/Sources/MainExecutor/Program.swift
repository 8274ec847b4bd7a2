import RunLoopKit

/// An ordinary asynchronous program, whose main actor is the main loop, even after its first suspension.
@main
@MainActor
struct Program {
    static func main() async throws {
        report("begins")
        let (ticks, continuation) = AsyncStream.makeStream(of: Int.self)
        let timer = Loop.Timer(every: .milliseconds(10), isolation: .shared) { firing in
            continuation.yield(firing.missed)
        }
        Loop.main.add(timer, in: .common)
        for await _ in ticks.prefix(3) { report("ticked") }
        timer.invalidate()
        try await Task.sleep(for: .milliseconds(1))
        report("slept")
        await Task.detached { await report("called from another thread") }.value
    }

    private static func report(_ text: String) {
        let place = Loop.main.currentMode == nil ? "before the main loop runs" : "in a run of the main loop"
        print("\(text): \(Loop.main.isOnOwnThread ? place : "on another thread")")
    }
}
