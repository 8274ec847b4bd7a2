import RunLoopKit
import Synchronization

/// What a search field shows: it asks when the typing has paused for 250 ms, an answer takes 300 ms, and the newest
/// question wins.
@MainActor private final class SearchField {
    private(set) var log: [String] = []
    private let clock: VirtualClock
    private var search: AsyncLimiter<String, Void>?

    init(on loop: Loop, _ clock: VirtualClock) {
        self.clock = clock
        search = .debounce(
            interval: .milliseconds(250), on: loop, whileRunning: .cancelPrevious,
            executorPreference: loop.taskExecutor
        ) { @MainActor [weak self] text in
            self?.note("asks \(text)")
            do {
                try await Task.sleep(for: .milliseconds(300), clock: .loop(loop))
                self?.note("shows \(text)")
            } catch {
                self?.note("drops \(text)")
            }
        }
    }

    func type(_ text: String) { search?(text) }

    func note(_ text: String) { log.append("\(clock.now.nanoseconds / 1_000_000) \(text)") }
}

/// An actor on a thread in virtual time, which asks the main actor.
private actor Resident {
    private let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }

    init(_ thread: LoopThread) { self.thread = thread }

    func work(for field: SearchField) async throws {
        for _ in 0..<3 {
            await field.note("works")
            let clock = LoopClock(thread.loop)
            try await clock.sleep(until: clock.now + .milliseconds(7))
        }
    }
}

/// Times of classes of the main actor, on a manual clock.
@MainActor enum Settling {
    static func search() async -> [String] {
        let clock = VirtualClock(.manual)
        let field = SearchField(on: Loop(clock: clock), clock)
        for (text, pause) in [("s", 100), ("sw", 100), ("swi", 600), ("swif", 260), ("swift", 0)] {
            field.type(text)
            await clock.advanceAndSettle(by: .milliseconds(pause))
        }
        await clock.advanceAndSettle(by: .milliseconds(549))
        field.note("waits")
        await clock.advanceAndSettle(by: .milliseconds(1))
        return field.log
    }

    static let expectedSearch = [
        "450 asks swi", "750 shows swi", "1050 asks swif", "1310 drops swif", "1310 asks swift", "1609 waits",
        "1610 shows swift",
    ]

    /// Tasks that call each other, on the main actor and on a thread.
    static func tasks() async throws -> [String] {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(name: "resident", clock: clock)
        let loop = Loop(clock: clock)
        let field = SearchField(on: loop, clock)
        let task = Task(executorPreference: loop.taskExecutor) { try await walk(field, loop, thread) }
        await clock.advanceAndSettle(by: .milliseconds(50))
        field.note("50")
        await clock.advanceAndSettle(by: .milliseconds(50))
        // It has ended, if the times are exact. Nothing runs its loop any more.
        task.cancel()
        return field.log
    }

    private static func walk(_ field: SearchField, _ loop: Loop, _ thread: LoopThread) async throws {
        for number in 0..<3 {
            try await Task.sleep(for: .milliseconds(10), clock: .loop(number == 1 ? thread.loop : loop))
            await Task { @MainActor in }.value
            field.note("task \(number)")
        }
        try await Resident(thread).work(for: field)
        field.note("done")
    }

    static let expectedTasks = [
        "10 task 0", "20 task 1", "30 task 2", "30 works", "37 works", "44 works", "50 50", "51 done",
    ]

    /// - Returns: What was not as expected.
    static func play(rounds: Int) async throws -> [[String]] {
        var others: [[String]] = []
        for _ in 0..<rounds {
            let (search, tasks) = (await search(), try await tasks())
            if search != expectedSearch { others.append(search) }
            if tasks != expectedTasks { others.append(tasks) }
        }
        return others
    }

    /// The same while threads keep the processors busy.
    static func playOnBusyMachine(rounds: Int) async throws -> [[String]] {
        let pool = try LoopThreadPool(count: 2)
        defer { isOver.store(true, ordering: .relaxed) }
        for _ in 0..<2 { pool.perform { while !isOver.load(ordering: .relaxed) {} } }
        return try await play(rounds: rounds)
    }

    private nonisolated static let isOver = Atomic<Bool>(false)
}
