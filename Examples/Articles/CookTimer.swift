import RunLoopKit

@MainActor final class Clock {
    private(set) var ticks = 0

    func start() {
        let interval = Duration.milliseconds(10)
        let timer = Loop.Timer(every: interval, isolation: .shared) {
            [weak self] firing in
            guard let self else { return firing.timer.invalidate() }
            ticks += 1
            if ticks == 3 { Loop.main.stop() }
        }
        Loop.main.add(timer, in: .common)
    }
}

let clock = Clock()
clock.start()
Loop.main.run()
print("\(clock.ticks) ticks")
