import RunLoopKit
let clock = VirtualClock()
let loop = Loop(clock: clock)
loop.add(Loop.Observer { _, a in print(a, Loop.current.now) }, in: .default)
loop.add(
    Loop.Timer(every: .seconds(1)) { f in
        print("tick", f.scheduledTime, f.missed); clock.advance(by: .seconds(2));
        if f.scheduledTime.nanoseconds > 5_000_000_000 { f.timer.invalidate() }
    }, in: .default)
let s = Loop.Source0(cancel: { l, m in print("cancel", m) }) { print("s0") }
loop.add(s, in: .default)
s.signal()
loop.perform {
    print("block"); s.invalidate()
}
print(loop.run(mode: .default, for: .seconds(100)), loop.counters)
let real = Loop.current
let p = try Loop.PortSource { print("port", $0) }
real.add(p, in: .default); p.send(); p.send()
real.add(
    Loop.Timer(after: .milliseconds(5)) { _ in
        print("t"); Loop.current.stop()
    }, in: .default)
print(real.run(mode: .default, for: .seconds(1)), real.counters)
