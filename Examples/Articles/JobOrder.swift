import RunLoopKit

let loop = Loop(clock: VirtualClock())

// Tasks that prefer a loop run when that loop runs.
func start(_ name: String, _ priority: TaskPriority) {
    Task(executorPreference: loop.taskExecutor, priority: priority) {
        print("\(name) begins")
        await Task.yield()
        print("\(name) ends")
    }
}

start("low", .low)
start("first", .medium)
start("second", .medium)
start("high", .high)
loop.perform { print("a block") }
loop.run(mode: .default, for: .seconds(1))
