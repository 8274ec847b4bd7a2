import AsyncAlgorithms
import RunLoopKit
import Synchronization

/// Plays the same events to `Debounce` and to the debounce of swift-async-algorithms, in virtual time.
///
/// The time is moved by hand, and only after both have done all that they can do at the present time. The tasks of
/// swift-async-algorithms run on threads that the clock knows nothing of, so the stage watches what they wait for.
final class DebounceStage: Sendable {
    /// What was delivered, and when: in seconds.
    struct Delivery: Equatable, CustomStringConvertible {
        let time: Int
        let event: Int
        var description: String { "\(event) at \(time)" }
    }

    /// The pause that ends a burst, in seconds.
    static let interval = 10

    private struct State {
        var ours: [Delivery] = []
        var theirs: [Delivery] = []
        /// How many events were handed to the sequence, and how many times its consumer has asked for one.
        var given = 0
        var asked = 0
        /// Whether an event was taken whose time has not been read, and how often one was read.
        var isTaken = false
        var timed = 0
        var deadlines: [Int: Loop.Instant] = [:]
        var sleepCount = 0
        var isOver = false
    }

    private let clock = VirtualClock(.manual)
    private let thread: LoopThread
    private let state = Mutex(State())
    private let (events, continuation) = AsyncStream.makeStream(of: Result<Int, Failure>.self)

    struct Failure: Error {}

    init() throws { thread = try LoopThread(name: "debounce", clock: clock) }

    var ours: [Delivery] { state.withLock { $0.ours } }
    var theirs: [Delivery] { state.withLock { $0.theirs } }
    var loop: Loop { thread.loop }
    private var seconds: Int { Int(clock.now.nanoseconds / 1_000_000_000) }

    // MARK: What is compared

    func makeOurs(
        edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, whenReleased: RateLimitRelease = .discard
    ) -> Debounce<Int> {
        Debounce(
            interval: .seconds(Self.interval), edges: edges, maxWait: maxWait, on: thread.loop,
            whenReleased: whenReleased
        ) { [unowned self] event in
            let delivery = Delivery(time: seconds, event: event)
            state.withLock { $0.ours.append(delivery) }
        }
    }

    /// Iterates, and does what a test needs for each delivery.
    func startTheirs(_ consume: @escaping @Sendable (Int) async -> Void = { _ in }) -> Task<(any Error)?, Never> {
        let debounced = Events(stage: self).debounce(for: .seconds(Self.interval), clock: WatchedClock(stage: self))
        return Task {
            defer { state.withLock { $0.isOver = true } }
            do {
                for try await event in debounced {
                    let delivery = Delivery(time: seconds, event: event)
                    state.withLock { $0.theirs.append(delivery) }
                    await consume(event)
                }
                return nil
            } catch {
                return error
            }
        }
    }

    // MARK: Playing

    func give(_ event: Int) async {
        state.withLock { $0.given += 1 }
        continuation.yield(.success(event))
        await wait { $0.asked > $0.given && $0.deadlines.values.contains { $0 > self.clock.now } }
    }

    /// For a consumer that is busy: the debounce takes the event, and asks for no other.
    func giveWhileBusy(_ event: Int) async {
        state.withLock { $0.given += 1 }
        continuation.yield(.success(event))
        await wait { $0.timed == $0.given }
    }

    func waitForDeliveries(_ count: Int) async { await wait { $0.theirs.count == count } }

    func finish() async {
        continuation.finish()
        await wait { $0.isOver }
    }

    func fail() async {
        continuation.yield(.failure(Failure()))
        await wait { $0.isOver }
    }

    /// Moves the time, second by second.
    ///
    /// - Parameter isSettled: Whether theirs has done what it has to do at a time.
    func advance(to time: Int, until isSettled: @Sendable (_ now: Int, _ theirs: [Delivery]) -> Bool) async {
        while seconds < time {
            clock.advance(by: .seconds(1))
            // A sleep that is over ends, and either delivers or sleeps again.
            await wait { state in
                !state.deadlines.values.contains { $0 <= self.clock.now } && isSettled(self.seconds, state.theirs)
            }
        }
    }

    private func wait(until isSettled: @Sendable (State) -> Bool) async {
        while !isSettled(state.withLock { $0 }) { await Task.yield() }
    }

    // MARK: What swift-async-algorithms sees

    /// The events. Records how many were requested.
    private struct Events: AsyncSequence, Sendable {
        typealias Element = Int
        let stage: DebounceStage

        struct AsyncIterator: AsyncIteratorProtocol {
            let stage: DebounceStage
            var base: AsyncStream<Result<Int, Failure>>.Iterator

            mutating func next() async throws -> Int? {
                stage.state.withLock { $0.asked += 1 }
                let event = await base.next()
                stage.state.withLock { $0.isTaken = true }
                return try event?.get()
            }
        }

        func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(stage: stage, base: stage.events.makeAsyncIterator())
        }
    }

    /// The loop's clock, which records the sleeps.
    private struct WatchedClock: Clock {
        let stage: DebounceStage
        private var base: LoopClock { .loop(stage.loop) }
        var now: Loop.Instant {
            let now = base.now
            stage.state.withLock { state in
                if state.isTaken { state.timed += 1 }
                state.isTaken = false
            }
            return now
        }
        var minimumResolution: Duration { base.minimumResolution }

        func sleep(until deadline: Loop.Instant, tolerance: Duration?) async throws {
            let number = stage.state.withLock { state in
                state.sleepCount += 1
                state.deadlines[state.sleepCount] = deadline
                return state.sleepCount
            }
            defer { stage.state.withLock { state in state.deadlines[number] = nil } }
            try await base.sleep(until: deadline, tolerance: tolerance)
        }
    }
}
