import RunLoopKit

@MainActor
final class Counter {
    private var ticks = 0

    init() {
        let timer = Loop.Timer(
            every: .milliseconds(100), isolation: .shared
        ) { [weak self] _ in self?.tick() }
        Loop.main.add(timer, in: .common)
    }

    private func tick() {
        ticks += 1
        print("tick \(ticks)")
        if ticks == 3 { Loop.main.stop() }
    }
}

let counter = Counter()
Loop.main.run()  // sleeps between the ticks, and returns when it is stopped
print("done")
