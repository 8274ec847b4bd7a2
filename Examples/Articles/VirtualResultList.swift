import RunLoopKit

// What a search field shows. The program passes `.main`.
@MainActor final class ResultList {
    private(set) var results: [String] = []
    private var lastCall = 0
    private var search: AsyncLimiter<(text: String, call: Int), Void>?

    init(
        on loop: Loop,
        lookUp: @escaping @Sendable (String) async throws -> [String]
    ) {
        search = .debounce(
            interval: .milliseconds(300), on: loop,
            whileRunning: .cancelPrevious
        ) { @MainActor [weak self] input in
            let found = try await lookUp(input.text)
            guard let self, input.call == lastCall else { return }
            results = found
        }
    }

    @discardableResult
    func type(
        _ text: String
    ) -> AsyncLimiter<(text: String, call: Int), Void>.Answer {
        lastCall += 1
        return search!.call((text, lastCall))
    }
}

// A server that answers when the test says so.
actor Server {
    nonisolated let questions: AsyncStream<String>
    private let asked: AsyncStream<String>.Continuation
    private var open: [String: CheckedContinuation<[String], Never>] = [:]

    init() { (questions, asked) = AsyncStream.makeStream() }

    func find(_ text: String) async -> [String] {
        await withCheckedContinuation {
            open[text] = $0
            asked.yield(text)
        }
    }

    func answer(_ text: String, _ results: [String]) {
        open.removeValue(forKey: text)!.resume(returning: results)
    }
}

// As in `@MainActor @Test func looksUpAfterAPause() async throws { … }`.
try Loop.runMain {
    let clock = VirtualClock(.manual)
    let thread = try LoopThread(name: "test", clock: clock)
    let server = Server()
    var questions = server.questions.makeAsyncIterator()
    let list = ResultList(on: thread.loop) { await server.find($0) }

    for text in ["r", "ru"] {
        list.type(text)
        clock.advance(by: .milliseconds(299))  // a millisecond too short
    }
    let answer = list.type("run")
    clock.advance(by: .milliseconds(300))
    // The action, a task of the main actor, begins while this one waits.
    print("looks up \(await questions.next()!)")
    await server.answer("run", ["run", "rune"])
    try await answer.value
    print("shows \(list.results)")

    // An old answer that comes while a new text waits.
    let old = list.type("ru")
    clock.advance(by: .milliseconds(300))
    print("looks up \(await questions.next()!)")
    list.type("rul")
    await server.answer("ru", ["rule", "run", "rune"])
    try await old.value
    print("still shows \(list.results)")
}
