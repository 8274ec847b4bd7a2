import RunLoopKit

@MainActor final class SearchField {
    private let search: AsyncLimiter<String, Int>

    init(on loop: Loop) {
        search = .debounce(
            interval: .milliseconds(300), on: loop,
            whileRunning: .cancelPrevious
        ) { text in
            print("searches for \(text)")
            return text.utf8.count  // or the answer of a server
        }
    }

    func type(_ text: String) -> Task<Int?, any Error> {
        let answer = search.call(text)  // in the order of the key strokes
        return Task { try await answer.value }
    }
}

try Loop.runMain {
    let clock = VirtualClock()
    let worker = try LoopThread(name: "search", clock: clock)
    let field = SearchField(on: worker.loop)

    let hold = clock.hold()  // no time passes between these key strokes
    let tasks = ["r", "ru", "run"].map { field.type($0) }
    hold.release()
    for task in tasks {
        let count = try await task.value  // nil: the call led to no search
        print("\(count ?? 0) results")
    }
}
