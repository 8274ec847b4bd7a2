import RunLoopKit

// A search that waits for a pause in the typing. Its actor lives on a loop,
// and so do the actions of its limiter.
actor Search {
    private let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.loop.asUnownedSerialExecutor()
    }
    private let limiter: AsyncLimiter<String, [String]>

    init(on thread: LoopThread) {
        self.thread = thread
        limiter = .debounce(
            interval: .milliseconds(300), on: thread.loop,
            whileRunning: .cancelPrevious,
            executorPreference: thread.loop.taskExecutor)
        // Weak, since the actor retains the limiter, and that its action.
        limiter.setHandler { [weak self] text in
            try await self?.find(text) ?? []
        }
    }

    /// Calls the limiter. The answer comes later.
    func type(_ text: String) -> AsyncLimiter<String, [String]>.Answer {
        log("types \(text)")
        return limiter.call(text)
    }

    /// Takes 500 ms, as a server might.
    private func find(_ text: String) async throws -> [String] {
        log("searches for \(text), on its thread: \(thread.isCurrent)")
        let clock = LoopClock(thread.loop)
        try await Task.sleep(for: .milliseconds(500), clock: clock)
        return ["rule", "run", "rune"].filter { $0.hasPrefix(text) }
    }
}

let clock = VirtualClock()
func log(_ text: String) {
    print("\(clock.now.nanoseconds / 1_000_000) ms: \(text)")
}

let thread = try LoopThread(name: "search", clock: clock)
let search = Search(on: thread)

// The test is a task on the same loop: no time passes while it runs.
let test = Task(executorPreference: thread.loop.taskExecutor) {
    var answers: [AsyncLimiter<String, [String]>.Answer] = []
    for (text, pause) in [("r", 100), ("ru", 400), ("run", 0)] {
        answers.append(await search.type(text))
        let pause = Duration.milliseconds(pause)
        try await Task.sleep(for: pause, clock: .loop(thread.loop))
    }
    for answer in answers {
        let found = try await answer.value  // nil: no search, or cancelled
        log("answer: \(found?.joined(separator: ", ") ?? "none")")
    }
}
try await test.value
