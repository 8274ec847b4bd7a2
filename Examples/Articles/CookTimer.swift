import RunLoopKit

@MainActor final class Clock {
    private(set) var ticks = 0
    private let timer = Loop.Timer(every: .milliseconds(10))

    init() {
        timer.setHandler(isolation: .shared) { [weak self] _ in
            self?.tick()
        }
        Loop.main.add(timer, in: .common)
    }

    deinit { timer.invalidate() }

    private func tick() {
        ticks += 1
        if ticks == 3 { Loop.main.stop() }
    }
}

let clock = Clock()
Loop.main.run()
print("\(clock.ticks) ticks")
