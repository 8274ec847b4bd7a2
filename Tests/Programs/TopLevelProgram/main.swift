// Main-actor code under the main loop, in a main.swift without 'async': tasks, a timer that accesses the main actor's
// state, a clock, and an actor that lives on the main loop.
import RunLoopKit

var ticks = 0

/// An actor on the main thread that is not the main actor.
actor Neighbour {
    nonisolated var unownedExecutor: UnownedSerialExecutor { Loop.main.asUnownedSerialExecutor() }
    func isOnTheMainThread() -> Bool { Loop.main.isOnOwnThread }
}

let timer = Loop.Timer(every: .milliseconds(1)) { firing in
    MainActor.assumeIsolated {
        ticks += 1
        guard ticks == 3 else { return }
        firing.timer.invalidate()
        Task { try await story() }
    }
}

@MainActor func story() async throws {
    print("main actor: \(Loop.main.isOnOwnThread), \(ticks) ticks")
    try await LoopClock(.main).sleep(until: Loop.main.now.advanced(by: .milliseconds(1)))
    print("slept, back on the main thread: \(Loop.main.isOnOwnThread)")
    print("an actor on the main loop: \(await Neighbour().isOnTheMainThread())")
    for await _ in Loop.main.ticks(every: .milliseconds(1)) { break }
    print("ticked, on the main thread: \(Loop.main.isOnOwnThread)")
    await withTaskExecutorPreference(Loop.main.taskExecutor) {
        print("a preference for the main loop: \(await isOnTheMainThread())")
    }
    Loop.main.stop()
}

Loop.main.add(timer, in: .default)
Loop.main.run()
print("stopped")

// Between two runs, with nothing to wait for: the stop ends the next run.
Loop.ConnectionSet().end(within: .seconds(1)) {
    print("a set has ended, in a run: \(Loop.main.currentMode != nil)")
    Loop.main.stop()
}
Loop.main.run()
print("stopped again")

@concurrent func isOnTheMainThread() async -> Bool { Loop.main.isOnOwnThread }
