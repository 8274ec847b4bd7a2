import RunLoopKit

extension GrowingOperation {
    static let timers = GrowingOperation(
        "timers", "A timer is added to so many others, and the same one is invalidated."
    ) { loop, size in
        let timers = ScatteredTimers(size, in: loop, .default)
        return { count in for _ in 0..<count { timers.add().invalidate() } }
    }

    static let timersInCommon = GrowingOperation(
        "timers-common", "A timer is added to so many others in the common modes, and the same one is invalidated."
    ) { loop, size in
        let timers = ScatteredTimers(size, in: loop, .common)
        return { count in for _ in 0..<count { timers.add().invalidate() } }
    }

    static let retiming = GrowingOperation("timers-retime", "One of so many timers gets another time.") { loop, size in
        let timers = ScatteredTimers(size, in: loop, .default)
        let timer = timers.add()
        let times = (0..<64).map { loop.now.advanced(by: timers.delay($0)) }
        return { count in for number in 0..<count { timer.nextFireTime = times[number % times.count] } }
    }

    static let stopping = GrowingOperation(
        "timers-stop-start", "One of so many timers is stopped, and started with another delay."
    ) { loop, size in
        let timers = ScatteredTimers(size, in: loop, .default)
        let timer = Loop.Timer(restartableAfter: .anHour) { _ in }
        loop.add(timer)
        let delays = (0..<64).map(timers.delay)
        return { count in
            for number in 0..<count {
                timer.nextFireTime = nil
                timer.restart(after: delays[number & 63])
            }
        }
    }

    static let restarting = GrowingOperation(
        "timers-restart", "So many connections restart their idle timeouts in turn, as packets come."
    ) { loop, size in
        let timers = (0..<size).map { _ in Loop.Timer(restartableAfter: .anHour) { _ in } }
        for timer in timers { loop.add(timer) }
        return { count in for number in 0..<count { timers[number % size].restart() } }
    }

    static let tolerantTimers = GrowingOperation(
        "timers-tolerant", "The earliest of so many timers with a tolerance is added and invalidated; a run after each."
    ) { loop, size in
        let timers = ScatteredTimers(size, in: loop, .default, tolerance: .seconds(60))
        return { count in
            for _ in 0..<count {
                let timer = timers.addEarliest()
                loop.run(for: .zero)
                timer.invalidate()
                loop.run(for: .zero)
            }
        }
    }

    static let mixedTimers = GrowingOperation(
        "timers-mixed", "One of so many timers with a tolerance fires, beside a timer of another clock."
    ) { loop, size in
        let timers = (0..<size).map { _ in Loop.Timer(every: .anHour, tolerance: .seconds(60)) { _ in } }
        for timer in timers { loop.add(timer) }
        loop.add(Loop.Timer(after: .anHour, timeBase: .continuous) { _ in })
        let urgent = Loop.Timer(restartableAfter: .anHour) { _ in }
        loop.add(urgent)
        return { count in
            for number in 0..<count {
                timers[number % size].nextFireTime = loop.now
                // A tolerance lets a timer wait, so that another one ends the wait of both.
                urgent.restart(after: .zero)
                loop.run(for: .zero)
            }
        }
    }
}

/// Timers that are due at different times, in a fixed order that looks random. They are close to each other, so that a
/// tolerance covers all.
private final class ScatteredTimers {
    private let size: Int
    private let loop: Loop
    private let mode: Loop.Mode
    private let tolerance: Duration
    private var made = 0

    /// Adds `size` timers.
    init(_ size: Int, in loop: Loop, _ mode: Loop.Mode, tolerance: Duration = .zero) {
        (self.size, self.loop, self.mode, self.tolerance) = (size, loop, mode, tolerance)
        for _ in 0..<size { add() }
    }

    @discardableResult
    func add() -> Loop.Timer {
        made += 1
        return add(after: delay(made))
    }

    func addEarliest() -> Loop.Timer { add(after: .anHour / 2) }

    func delay(_ number: Int) -> Duration { .anHour + .microseconds(number * 7_919 % size) }

    private func add(after delay: Duration) -> Loop.Timer {
        let timer = Loop.Timer(after: delay, tolerance: tolerance) { _ in }
        loop.add(timer, in: mode)
        return timer
    }
}
