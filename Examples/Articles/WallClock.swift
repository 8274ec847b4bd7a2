import RunLoopKit

// A loop whose wall clock a program can set: it begins at 06:59:57.
let clock = VirtualClock()
let midnight = Loop.Instant(nanoseconds: 0)
clock.setWallClock(to: midnight + .seconds(6 * 3600 + 59 * 60 + 57))
let loop = Loop(clock: clock)

func log(_ text: String) {
    let time = loop.now(.wallClock).nanoseconds / 1_000_000_000
    let parts = [time / 3600, time / 60 % 60, time % 60]
    let digits = parts.map { $0 < 10 ? "0\($0)" : "\($0)" }
    print(digits.joined(separator: ":"), text)
}

// At 07:00 by the clock on the wall.
let alarm = Loop.Timer(
    at: midnight + .seconds(7 * 3600), timeBase: .wallClock
) { _ in log("alarm") }

// In five seconds, whatever the clock on the wall says.
let delay = Loop.Timer(after: .seconds(5)) { _ in
    log("five seconds later")
}

// The clock is set back by a minute.
let correction = Loop.Timer(after: .seconds(1)) { _ in
    clock.setWallClock(to: loop.now(.wallClock) - .seconds(60))
    log("the clock was set back")
}

for timer in [alarm, delay, correction] { loop.add(timer) }
log("begins")
loop.run()
