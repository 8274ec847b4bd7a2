// The two time bases where they differ: run this in a time namespace (unshare --user --time --boottime SECONDS), in
// which CLOCK_BOOTTIME is ahead as if the machine had been suspended for that long.
import RunLoopKit

let loop = Loop.main
let ahead = loop.now.duration(to: loop.now(.continuous))
print("ahead: \(ahead.components.seconds)")

/// Prints what fired, and whether it was due on its own clock, and not long before: the clocks are days apart.
@Sendable func note(_ what: String, _ firing: Loop.Timer.Firing) {
    let late = firing.scheduledTime.duration(to: Loop.main.now(firing.timer.timeBase))
    print("\(what): \(late < .zero ? "early" : late < .seconds(3600) ? "due" : "very late")")
}

// Before the loop first runs, and while it runs: the timerfd is made in between.
for base in [Loop.TimeBase.suspending, .continuous] {
    loop.add(Loop.Timer(after: .milliseconds(1), timeBase: base) { note("\(base), by a delay", $0) }, in: .default)
    loop.run(mode: .default, for: .milliseconds(200))
    let time = loop.now(base) + .milliseconds(1)
    loop.add(Loop.Timer(at: time, timeBase: base) { note("\(base), at a time", $0) }, in: .default)
    loop.run(mode: .default, for: .milliseconds(200))
    let next = loop.now(base) + .seconds(3600)
    let timer = Loop.Timer(at: next, timeBase: base) { note("\(base), moved", $0) }
    loop.add(timer, in: .default)
    let untilNext = loop.nextTimerFireTime(in: .default).map { loop.now.duration(to: $0) }
    print("\(base), next in an hour: \(untilNext.map { $0 > .seconds(3000) } ?? false)")
    loop.perform { timer.nextFireTime = loop.now(base) + .milliseconds(1) }
    loop.run(mode: .default, for: .milliseconds(200))
    let repeating = Loop.Timer(every: .milliseconds(1), timeBase: base) { firing in
        note("\(base), repeating", firing)
        firing.timer.invalidate()
    }
    loop.add(repeating, in: .default)
    loop.run(mode: .default, for: .milliseconds(200))
}

// For tasks.
Task { @MainActor in
    for base in [Loop.TimeBase.suspending, .continuous] {
        let clock = LoopClock(loop, timeBase: base)
        let difference = loop.now(base).duration(to: clock.now)
        print("\(base), a clock for it: \(difference >= .zero && difference < .seconds(3600))")
        let deadline = clock.now + .milliseconds(1)
        try await clock.sleep(until: deadline)
        print("\(base), a task: \(clock.now >= deadline ? "due" : "early")")
    }
    loop.stop()
}
loop.run()

// A host serves them too.
let descriptor = try loop.hosting.begin()
let hasFired = LoopBound(false, on: loop)
loop.add(
    Loop.Timer(after: .milliseconds(1), timeBase: .continuous) { firing in
        note("hosted", firing)
        hasFired.value = true
    }, in: .default)
loop.hosting.pass()
let timeout = loop.hosting.timeout ?? .seconds(3600)
let maySleep = hasFired.value || timeout < .seconds(3000)
while !hasFired.value { loop.hosting.pass() }
print("the host may sleep: \(maySleep)")
loop.hosting.end()
