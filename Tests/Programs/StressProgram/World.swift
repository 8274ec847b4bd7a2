import RunLoopKit
import Synchronization
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Loops that start and end, items that all threads use, and random operations on them.
final class World: Sendable {
    static let modes: [Loop.Mode] = [.default, "a", "b"]
    private static let loopCount = 3
    private static let itemCount = 24
    static let firstSignal: Int32 = 36

    let (closures, messages, blocks) = (Sum(), Sum(), Sum())

    private struct State {
        var loops: [LoopThread] = []
        var retired: [LoopThread] = []
        /// A paced queue on each of the loops.
        var queues: [PacedQueue<Fate.Closure>] = []
        var items: [StressItem] = []
        /// Released references: the item exists while a loop has it.
        var dropped: [WeakItem] = []
        var accounts: [StressItem] = []
        var fates: [Fate] = []
        var depths: [ObjectIdentifier: Int] = [:]
        var random: SplitMix
        var isQuiet = false
    }

    private struct WeakItem {
        weak var item: Loop.Item?
        let account: Account
    }

    /// The fate of a block or an end handler.
    private final class Fate: Sendable {
        let isEndHandler: Bool
        let (ran, withdrawn) = (Sum(), Sum())
        let isAccepted = Atomic<Bool>(false)
        init(isEndHandler: Bool) { self.isEndHandler = isEndHandler }

        final class Closure: Sendable {
            let fate: Fate
            let world: World
            init(_ fate: Fate, _ world: World) {
                (self.fate, self.world) = (fate, world)
                world.blocks.add(1)
            }
            deinit { world.blocks.add(-1) }
        }
    }

    private let state: Mutex<State>

    private static let quotaPeriod = Int64(20_000)
    private let quota = Quota(1, per: .nanoseconds(World.quotaPeriod), burst: 10)
    private let start = Loop.Instant.now
    /// The epoll sets of the main loop, which is there already.
    private let setsOfMain = World.epollSets(among: openDescriptors())
    private let allowed = Sum()

    init(seed: UInt64) {
        state = Mutex(State(random: SplitMix(seed)))
        for _ in 0..<World.loopCount { add(World.makeLoop()) }
        for slot in 0..<World.itemCount {
            let item = makeItem(slot, StressItem.Kind.allCases[slot % StressItem.Kind.allCases.count])
            state.withLock { $0.items.append(item) }
        }
    }

    private func add(_ loop: LoopThread) {
        state.withLock {
            $0.loops.append(loop)
            $0.queues.append(World.makeQueue(on: loop.loop))
        }
    }

    /// All of its modes are common: each epoll set watches the same number of descriptors when its mode is empty.
    private static func makeLoop() -> LoopThread {
        let thread = try! LoopThread(name: "stressed")
        for mode in modes { thread.loop.addCommonMode(mode) }
        StallWatchdog.watch(thread.loop, "a stressed loop")
        return thread
    }

    private static func makeQueue(on loop: Loop) -> PacedQueue<Fate.Closure> {
        PacedQueue(1, per: .microseconds(20), burst: 2, capacity: 16, on: loop, whenReleased: .flush, action: act)
    }

    private static let act: @Sendable (Fate.Closure) -> Void = { closure in
        closure.fate.ran.add(1)
        closure.world.happens(one: 3)
    }

    /// Signal sources of the same slot have the same signal: never two valid ones at a time, but almost.
    private func makeItem(_ slot: Int, _ kind: StressItem.Kind? = nil) -> StressItem {
        var random = fork()
        var kind = kind ?? random.pick(StressItem.Kind.allCases)
        if kind.isSlow, !random.once(in: 4) { kind = .messagePort }
        return StressItem(kind, signal: World.firstSignal + Int32(slot), self, &random)
    }

    private func fork() -> SplitMix { state.withLock { SplitMix($0.random.next()) } }

    // MARK: Operations

    /// In a callout: an operation, at times.
    func happens(one count: Int) {
        let random = state.withLock { $0.isQuiet || !$0.random.once(in: count) ? nil : SplitMix($0.random.next()) }
        if var random { act(&random, isOnLoop: true) }
    }

    /// One operation on a random item.
    func act(_ random: inout SplitMix, isOnLoop: Bool = false) {
        beat()
        let slot = random.below(World.itemCount)
        let (stressed, thread) = state.withLock { ($0.items[slot], $0.loops[random.below($0.loops.count)]) }
        let (item, loop) = (stressed.item, thread.loop)
        let mode = random.pick(World.modes + [.common])
        switch random.below(35) {
        case 0..<8: loop.add(item, in: mode)
        case 8..<12: loop.remove(item, in: mode)
        case 12, 13: replace(slot, by: makeItem(slot), invalidating: true)
        case 14: replace(slot, by: makeItem(slot), invalidating: false)
        case 15: stressed.invalidate()
        case 16..<20: stressed.trigger()
        case 20..<23: stressed.change(&random)
        case 23: move(item, to: loop, mode)
        case 24, 25: post(to: loop, mode, &random)
        case 26: listenToTheEnd(of: loop, &random)
        case 27: loop.wakeUp()
        case 28: loop.stop()
        case 30: loop.spinDuration = random.once(in: 2) ? .zero : .microseconds(random.below(100))
        case 32, 33: pace(&random)
        case 34: if quota.take().isAllowed { allowed.add(1) }
        case 29: if random.once(in: 6) { replaceLoop(random.below(World.loopCount)) }
        default: if isOnLoop { runNested(&random) }
        }
    }

    private func move(_ item: Loop.Item, to loop: Loop, _ mode: Loop.Mode) {
        for other in state.withLock({ $0.loops }) {
            for mode in World.modes + [.common] { other.loop.remove(item, in: mode) }
        }
        loop.add(item, in: mode)
    }

    private func replace(_ slot: Int, by item: StressItem, invalidating: Bool) {
        let old = state.withLock { state in
            let old = state.items[slot]
            state.items[slot] = item
            if invalidating {
                state.accounts.append(old)
            } else {
                state.dropped.append(WeakItem(item: old.item, account: old.account))
            }
            return old
        }
        if invalidating { old.invalidate() }
    }

    private func replaceLoop(_ index: Int) {
        let new = World.makeLoop()
        // Before the loop ends, or after: the queue acts on what waits.
        let (old, queue) = state.withLock { state in
            let old = (state.loops[index], state.queues[index])
            state.loops[index] = new
            state.queues[index] = World.makeQueue(on: new.loop)
            state.retired.append(old.0)
            return old
        }
        old.stop()
        withExtendedLifetime(queue) {}
    }

    private func post(to loop: Loop, _ mode: Loop.Mode, _ random: inout SplitMix) {
        let fate = Fate(isEndHandler: false)
        let closure = Fate.Closure(fate, self)
        let body: @Sendable () -> Void = {
            closure.fate.ran.add(1)
            closure.world.happens(one: 3)
        }
        if random.once(in: 2) {
            fate.isAccepted.store(loop.perform(in: mode, body), ordering: .relaxed)
        } else {
            let handle = loop.performCancellable(in: mode, body)
            fate.isAccepted.store(handle != nil, ordering: .relaxed)
            if let handle, random.once(in: 2), handle.withdraw() { fate.withdrawn.add(1) }
        }
        state.withLock { $0.fates.append(fate) }
    }

    private func pace(_ random: inout SplitMix) {
        let queue = state.withLock { $0.queues[random.below($0.queues.count)] }
        if random.once(in: 8) { queue.flush() }
        if random.once(in: 8) { queue.setHandler(World.act) }
        let fate = Fate(isEndHandler: false)
        let answer = queue(Fate.Closure(fate, self), cost: random.below(3))
        fate.isAccepted.store(answer == .accepted, ordering: .relaxed)
        state.withLock { $0.fates.append(fate) }
    }

    private func listenToTheEnd(of loop: Loop, _ random: inout SplitMix) {
        let fate = Fate(isEndHandler: true)
        let closure = Fate.Closure(fate, self)
        let handler = loop.onEnd {
            closure.fate.ran.add(1)
            closure.world.happens(one: 3)
        }
        fate.isAccepted.store(handler != nil, ordering: .relaxed)
        if let handler, random.once(in: 3) {
            handler.cancel()
            fate.withdrawn.add(1)
        }
        state.withLock { $0.fates.append(fate) }
    }

    private func runNested(_ random: inout SplitMix) {
        let loop = Loop.current
        let id = ObjectIdentifier(loop)
        // Actors run none: they would begin another operation before they have finished this one.
        let mayRun = state.withLock { state in
            let isStressed = (state.loops + state.retired).contains { $0.loop === loop }
            guard !state.isQuiet, isStressed, state.depths[id, default: 0] < 3 else { return false }
            state.depths[id, default: 0] += 1
            return true
        }
        guard mayRun else { return }
        loop.run(
            mode: random.pick(World.modes), for: random.once(in: 2) ? .zero : .microseconds(random.below(300)),
            returnAfterSourceHandled: random.once(in: 2))
        state.withLock { $0.depths[id]! -= 1 }
    }

    // MARK: The end of a round

    /// No operation begins another one after this: handlers only count.
    func goQuiet() {
        state.withLock { $0.isQuiet = true }
        // An unfinished callout may replace a loop: repeats until all remaining loops have been waited for.
        while true {
            let loops = loops
            // Blocks are meant to run in outermost runs; inner runs end soon, and none begins any more.
            wait(for: "nested runs to end") { state.withLock { $0.depths.values.allSatisfy { $0 == 0 } } }
            for loop in loops {
                step("waits for the last callouts")
                _ = try? loop.performAndWait {}
            }
            let retired = state.withLock { state in
                defer { state.retired = [] }
                return state.retired
            }
            for loop in retired {
                step("waits for a loop's thread that was stopped")
                loop.join()
            }
            let isOver = state.withLock { state in
                state.retired.isEmpty && state.loops.elementsEqual(loops) { $0 === $1 }
            }
            if isOver, retired.isEmpty { return }
        }
    }

    private var loops: [LoopThread] { state.withLock { $0.loops } }

    /// Adds every remaining item to a running loop, sends to it, and expects it to handle all that it was ever sent.
    func handleAll() {
        let (items, loops) = state.withLock { ($0.items, $0.loops) }
        for (index, stressed) in items.enumerated() {
            for loop in loops {
                for mode in World.modes + [.common] { loop.loop.remove(stressed.item, in: mode) }
            }
            stressed.rearm()
            loops[index % loops.count].loop.add(stressed.item, in: .common)
            stressed.trigger()
        }
        for stressed in items {
            wait(for: "a \(stressed.kind) to handle what it was given") {
                stressed.rearm()
                return stressed.hasHandledAll
            }
        }
    }

    /// On several threads, which remove the same items at the same time.
    func invalidateAll(on threads: [LoopThread]) {
        step("invalidates everything")
        let (items, loops, dropped) = state.withLock { ($0.items, $0.loops, $0.dropped) }
        for (index, thread) in threads.enumerated() {
            thread.perform {
                for stressed in index % 2 == 0 ? items : items.reversed() {
                    if index == 1 {
                        for loop in loops { loop.loop.remove(stressed.item, in: .common) }
                    } else {
                        stressed.invalidate()
                    }
                }
            }
        }
        for dropped in dropped { dropped.item?.invalidate() }
        for thread in threads { fence(thread) }
        // Waits for handlers in progress.
        for loop in loops { fence(loop) }
        for stressed in items { stressed.checkTheEnd() }
        for stressed in state.withLock({ $0.accounts }) { stressed.checkTheEnd() }
        for dropped in dropped {
            expect(dropped.account.closures.value == 0, "a dropped \(dropped.account.kind): handlers are not released")
            expect(
                dropped.account.unpairedNotifications == 0,
                "a dropped \(dropped.account.kind): schedule and cancel notifications do not pair up")
        }
        state.withLock {
            $0.items = []
            $0.accounts = []
            $0.dropped = []
        }
        expect(closures.value == 0, "\(closures.value) handlers are not released")
        expect(messages.value == 0, "\(messages.value) messages are not released")
    }

    private func fence(_ thread: LoopThread) {
        step("waits for a loop to run a block")
        try! thread.performAndWait {}
    }

    /// No item is left in any mode: the loops watch only their own descriptors, and sleep.
    func checkThatLoopsAreIdle() {
        step("looks at the epoll sets")
        let descriptors = openDescriptors()
        for descriptor in World.epollSets(among: descriptors).subtracting(setsOfMain) {
            let kinds = EpollSet.entries(of: descriptor).map { descriptors[$0.descriptor] ?? "closed" }
            let events = kinds.count { $0 == "anon_inode:[eventfd]" }
            let timers = kinds.count { $0 == "anon_inode:[timerfd]" }
            // The eventfd of the wake-up; a timerfd for each clock that was ever needed.
            expect(
                events == 1 && (0...3).contains(timers) && kinds.count == events + timers,
                "an epoll set watches what has left: \(kinds.sorted())")
        }
        for loop in loops { checkThatItSleeps(loop.loop) }
    }

    private static func epollSets(among descriptors: [Int32: String]) -> Set<Int32> {
        Set(descriptors.filter { $0.value == "anon_inode:[eventpoll]" }.keys)
    }

    private func checkThatItSleeps(_ loop: Loop) {
        var tries = 0
        step("waits for a loop to sleep")
        while true {
            let before = loop.counters
            for _ in 0..<200 { sched_yield() }
            // A loop that wakes repeatedly does so thousands of times meanwhile.
            if loop.isWaiting, loop.counters == before { return }
            tries += 1
            expect(tries < 2000, "a loop in which nothing is does not sleep: \(loop.counters)\n\(loop)")
            usleep(100)
        }
    }

    func end() {
        for loop in loops {
            step("waits for a loop's thread to end")
            loop.stop()
            loop.join()
        }
        let fates = state.withLock { state in
            state.loops = []
            state.queues = []
            return state.fates
        }
        let most = 11 + start.duration(to: .now).wholeNanoseconds / World.quotaPeriod
        expect(allowed.value <= most, "a quota has allowed \(allowed.value) calls, \(most) at most")
        for fate in fates {
            let (ran, withdrawn) = (fate.ran.value, fate.withdrawn.value)
            let kind = fate.isEndHandler ? "an end handler" : "a block, or an input of a queue,"
            guard fate.isAccepted.load(ordering: .relaxed) else {
                expect(ran == 0, "\(kind) was refused and ran")
                continue
            }
            // A stopped thread runs what it has accepted. A handler may have run before it was cancelled.
            let isRight = fate.isEndHandler && withdrawn == 1 ? ran <= 1 : ran + withdrawn == 1
            expect(isRight, "\(kind) ran \(ran) times, and was withdrawn \(withdrawn) times")
        }
        expect(blocks.value == 0, "\(blocks.value) blocks are not released")
    }
}
