import RunLoopKit

// A class of the main actor takes its loop. The program passes `.main`.
@MainActor final class Reminder {
    private(set) var count = 0
    private var timer: Loop.Timer?

    init(on loop: Loop) {
        let timer = Loop.Timer(every: .seconds(60), isolation: .shared) { [weak self] _ in self?.remind() }
        loop.add(timer, in: .common)
        self.timer = timer
    }

    deinit { timer?.invalidate() }

    private func remind() { count += 1 }
}

// As in `@MainActor @Test func remindsEachMinute() { … }`, without async.
let loop = Loop(clock: VirtualClock())
let reminder = Reminder(on: loop)
loop.run(mode: .default, for: .seconds(3600))
print("\(reminder.count) times in an hour")
