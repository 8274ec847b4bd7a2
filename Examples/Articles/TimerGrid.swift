import RunLoopKit

let clock = VirtualClock()
let loop = Loop(clock: clock)

func milliseconds(_ time: Loop.Instant) -> Int64 {
    time.nanoseconds / 1_000_000
}
func log(_ text: String) { print("\(milliseconds(loop.now)) ms: \(text)") }

// Repeats, and keeps to its grid although a call was slow.
let tick = Loop.Timer(every: .milliseconds(100)) { firing in
    let due = milliseconds(firing.scheduledTime)
    log("tick of \(due) ms, \(firing.missed) missed")
    if due == 200 { clock.advance(by: .milliseconds(250)) }  // slow work
}

// Is due at 530 ms, may be late, and shares the wake-up of a tick.
let lax = Loop.Timer(
    after: .milliseconds(530), tolerance: .milliseconds(80)
) { _ in log("lax") }

// A timeout: every packet pushes it out.
let timeout = Loop.Timer(restartableAfter: .milliseconds(150)) { _ in
    log("no packet for 150 ms")
}
for time in [90, 180] {
    let packet = Loop.Timer(after: .milliseconds(time)) { _ in
        log("packet")
        timeout.restart()
    }
    loop.add(packet)
}

for timer in [tick, lax, timeout] { loop.add(timer) }
let result = loop.run(mode: .default, for: .milliseconds(650))
log("the run has \(result)")
