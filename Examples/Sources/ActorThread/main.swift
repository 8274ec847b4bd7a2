// An actor that lives on a thread of its own, as a device or a database would: its functions, its timer and its sleep
// all run there. The program's main thread runs Loop.main, and with it the main actor.
//
//     ActorThread
import RunLoopKit

actor Sensor {
    // The actor retains its thread, so that both end together.
    private let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }

    private var readings: [Int] = []

    init() throws { thread = try LoopThread(name: "sensor") }

    /// Reads every few milliseconds. The timer accesses the actor's state without a box; it does not retain the actor.
    func start() {
        let timer = Loop.Timer(every: .milliseconds(5), isolation: self) { sensor, firing in
            sensor.readings.append(sensor.readings.count)
            if sensor.readings.count == 3 { firing.timer.invalidate() }
        }
        thread.loop.add(timer, in: .common)
    }

    /// Returns when there are `count` readings. It sleeps on the actor's own loop, whose timers continue meanwhile.
    func wait(for count: Int) async throws -> [Int] {
        while readings.count < count { try await Task.sleep(for: .milliseconds(5), clock: .loop(thread.loop)) }
        return readings
    }

    var isAtHome: Bool { thread.isCurrent }
}

// A search that each key requests, and that begins once the user pauses; it then cancels the running one.
let search = AsyncLimiter.debounce(interval: .milliseconds(20), on: .main, whileRunning: .cancelPrevious) {
    (text: String) in "results for \(text)"
}

/// On the main actor, and so on the main thread.
@MainActor func story() async throws {
    let sensor = try Sensor()
    await sensor.start()
    print("readings: \(try await sensor.wait(for: 3)), on the sensor's thread: \(await sensor.isAtHome)")

    // Code that is isolated to no actor runs on a loop's thread if its task prefers the loop.
    let worker = try LoopThread(name: "worker")
    await withTaskExecutorPreference(worker.loop.taskExecutor) {
        print("a task that prefers the worker's loop is on its thread: \(await isOnThread(of: worker))")
    }

    // The timer is on the worker's loop, and the code on the main actor. Leaving the iteration removes the timer.
    for await tick in worker.loop.ticks(every: .milliseconds(5)) {
        print("a tick; never early: \(tick.scheduledTime <= worker.loop.now), on main: \(Loop.main.isOnOwnThread)")
        break
    }

    for text in ["l", "lo", "loo"] { search(text) }
    print("the search: \(try await search.run("loop") ?? "none")")
}

@concurrent func isOnThread(of worker: LoopThread) async -> Bool { worker.isCurrent }

try Loop.runMain { try await story() }
print("ended")
