import RunLoopKit

extension GrowingOperation {
    /// What a program does whose timeouts hardly ever fire: the one that is cancelled is any of them.
    static let replacing = GrowingOperation(
        "timers-random", "One of so many timers, at random, is invalidated, and another one is added."
    ) { loop, size in
        var random = Scatter()
        func add() -> Loop.Timer {
            let timer = Loop.Timer(after: .anHour + .milliseconds(random.next(below: size))) { _ in }
            loop.add(timer)
            return timer
        }
        var timers = (0..<size).map { _ in add() }
        return { count in
            for _ in 0..<count {
                let index = random.next(below: size)
                timers[index].invalidate()
                timers[index] = add()
            }
        }
    }

    static let retimingAtRandom = GrowingOperation(
        "timers-retime-random", "One of so many timers, at random, gets another delay."
    ) { loop, size in
        var random = Scatter()
        func delay() -> Duration { .anHour + .milliseconds(random.next(below: size)) }
        let timers = (0..<size).map { _ in Loop.Timer(restartableAfter: delay()) { _ in } }
        for timer in timers { loop.add(timer) }
        return { count in for _ in 0..<count { timers[random.next(below: size)].restart(after: delay()) } }
    }
}
