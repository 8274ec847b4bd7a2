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

    /// A host whose frame has no time left: each pass calls one.
    static let hostedTimers = GrowingOperation(
        "hosted-timers", "One of so many timers that are due at once is called by a hosted pass without a budget.",
        sizes: [10, 1_000], count: 2_000
    ) { loop, size in
        let timers = (0..<size).map { _ in Loop.Timer(restartableAfter: .zero) { _ in } }
        for timer in timers { loop.add(timer) }
        _ = try loop.hosting.begin()
        return { count in
            for _ in 0..<count / size {
                for timer in timers { timer.restart() }
                while loop.hosting.pass(for: .zero) == .more {}
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
