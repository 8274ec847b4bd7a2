import RunLoopKit

// Asks when the typing has paused for 250 ms. An answer takes 300 ms, and
// the newest question wins.
@MainActor final class SearchField {
    private var search: AsyncLimiter<String, Void>?

    init(on loop: Loop, show: @escaping @MainActor (String) -> Void) {
        search = .debounce(
            interval: .milliseconds(250), on: loop,
            whileRunning: .cancelPrevious,
            executorPreference: loop.taskExecutor
        ) { @MainActor text in
            show("asks for \(text)")
            let pause = Duration.milliseconds(300)
            try await Task.sleep(for: pause, clock: .loop(loop))
            show("answer for \(text)")
        }
    }

    func type(_ text: String) { search?(text) }
}

Loop.runMain {
    let clock = VirtualClock(.manual)
    let field = SearchField(on: Loop(clock: clock)) { text in
        print("\(clock.now.nanoseconds / 1_000_000) ms: \(text)")
    }
    for (text, pause) in [("s", 100), ("sw", 500), ("swift", 1000)] {
        field.type(text)
        await clock.advanceAndSettle(by: .milliseconds(pause))
    }
}
