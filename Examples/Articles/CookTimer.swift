import RunLoopKit

@MainActor final class Clock {
    private(set) var ticks = 0

    func start() {
        let timer = Loop.Timer(every: .milliseconds(10), isolation: .shared) {
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
