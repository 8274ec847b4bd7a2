import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The items of the virtual day, and what the program does in each of its seconds. Accessed on the loop's thread.
final class DaySeconds: @unchecked Sendable {
    private static let side: Loop.Mode = "side"
    private static let signal: Int32 = 42

    private let loop: Loop
    private let log: DayLog
    private let count: Int
    private var second = 0
    private var items: [Loop.Item] = []
    private var doomed: Loop.Timer?

    private let timeout: Loop.Timer
    private let throttle: Throttle<Int>
    private let debounce: Debounce<Int>
    private let keyedThrottle: KeyedThrottle<Int, Int>
    private let keyedDebounce: KeyedDebounce<Int, Int>
    private let quota: Quota
    private let paced: PacedQueue<Int>
    private let port: Loop.PortSource
    let messages: Loop.MessagePort<Int>
    private let source0: Loop.Source0
    private let pipe: Pipe
    private let actor: DayActor

    init(_ loop: Loop, minutes: Int, _ log: DayLog) {
        (self.loop, self.log, count) = (loop, log, minutes * 60)
        loop.addCommonMode(DaySeconds.side)
        timeout = Loop.Timer(restartableAfter: .seconds(4)) { _ in log.add(.timeout) }
        throttle = Throttle(interval: .milliseconds(9_500), on: loop) { _ in log.add(.throttle) }
        debounce = Debounce(interval: .milliseconds(2_500), on: loop) { _ in log.add(.debounce) }
        keyedThrottle = KeyedThrottle(interval: .seconds(30), on: loop) { _, _ in log.add(.keyedThrottle) }
        keyedDebounce = KeyedDebounce(interval: .milliseconds(3_500), on: loop) { _, _ in log.add(.keyedDebounce) }
        quota = Quota(12, per: .seconds(60), on: loop)
        paced = PacedQueue(1, per: .seconds(2), capacity: 100, on: loop) { _ in log.add(.paced) }
        port = try! Loop.PortSource { log.add(.port, $0) }
        messages = Loop.MessagePort { _ in log.add(.message) }
        source0 = Loop.Source0 { log.add(.source0) }
        pipe = Pipe()
        actor = DayActor(loop, log)
        addItems()
    }

    private func addItems() {
        let (log, pipe) = (log, pipe)
        items = [timeout, port, messages, source0] as [Loop.Item]
        items += DayEvent.periods.map { event, period in
            Loop.Timer(
                every: .nanoseconds(Int64(period)), tolerance: event == .tolerantTimer ? .milliseconds(40) : .zero,
                timeBase: event == .continuousTimer ? .continuous : event == .wallClockTimer ? .wallClock : .suspending
            ) { firing in
                log.add(event)
                if firing.missed > 0 { log.faults.append("\(event) has missed \(firing.missed)") }
            }
        }
        items.append(try! Loop.FileDescriptorSource(pipe.reader) { _, _ in log.add(.byte, pipe.readAll()) })
        items.append(
            try! Loop.SignalSource(DaySeconds.signal) { _, arrivals in log.add(.signal, arrivals.count) })
        items.append(Loop.Timer(every: .seconds(1)) { [unowned self] in self.tick($0) })
        for item in items { loop.add(item, in: .common) }
    }

    func invalidate() {
        for item in items { item.invalidate() }
        doomed?.invalidate()
        paced.invalidate()
        pipe.closeBoth()
    }

    private func tick(_ firing: Loop.Timer.Firing) {
        second += 1
        log.add(.tick)
        callLimiters()
        sendSomething()
        startTimers()
        if second % 10 == 0 { doEveryTenSeconds() }
        if second % 60 == 30 { doEveryMinute() }
        if second == count { firing.timer.invalidate() }
    }

    private func callLimiters() {
        throttle(second)
        // The rest of each minute is silent.
        if (1...50).contains(second % 60) {
            debounce(second)
            timeout.restart()
        }
        keyedThrottle(second, for: second)
        keyedDebounce(second, for: second / 10)
        if quota.take().isAllowed { log.add(.quota) }
        if second % 2 == 0, paced(second) != .accepted { log.faults.append("the paced queue is full") }
    }

    private func sendSomething() {
        port.send()
        messages.send(second)
        pipe.writeOne()
        source0.signal()
        loop.perform(in: .common) { [log] in log.add(.post) }
    }

    private func startTimers() {
        let log = log
        let bases: [Loop.TimeBase] = [.suspending, .continuous, .wallClock]
        let delay = Duration.nanoseconds(400_000_000 + Int64(second))
        loop.add(Loop.Timer(after: delay, timeBase: bases[second % 3]) { _ in log.add(.oneShot) }, in: .common)
        doomed?.invalidate()
        let hour = Loop.Timer(after: .seconds(3_600), timeBase: bases[second % 3]) { _ in log.add(.cancelled) }
        loop.add(hour, in: .common)
        doomed = hour
    }

    private func doEveryTenSeconds() {
        raise(DaySeconds.signal)
        loop.perform(in: DaySeconds.side) { [log] in log.add(.postForAnotherMode) }
    }

    private func doEveryMinute() {
        let (loop, log, actor) = (loop, log, actor)
        loop.add(Loop.Observer(.beforeWaiting, repeats: false) { _, _ in log.add(.observer) })
        Task(executorPreference: loop.taskExecutor) {
            try? await Task.sleep(for: .milliseconds(5_200), clock: LoopClock(loop))
            log.add(.task)
            await actor.add()
        }
        // In a nested run of less than a second, blocks that wait for its mode run, and a timer comes three times.
        let brief = Loop.Timer(every: .milliseconds(290)) { _ in log.add(.timerOfNestedRun) }
        loop.add(brief, in: DaySeconds.side)
        if loop.run(mode: DaySeconds.side, for: .milliseconds(900)) == .timedOut { log.add(.nestedRun) }
        brief.invalidate()
    }
}

/// An actor that lives on the loop.
private actor DayActor {
    private let loop: Loop
    private let log: DayLog

    init(_ loop: Loop, _ log: DayLog) { (self.loop, self.log) = (loop, log) }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func add() { log.add(.actor) }
}
