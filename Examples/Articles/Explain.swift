import RunLoopKit

let loop = Loop(clock: VirtualClock())
let heartbeat = Loop.Timer(every: .seconds(1)) { _ in }
let autosave = Loop.Timer(every: .seconds(30)) { _ in }
let blink = Loop.Timer(every: .milliseconds(500)) { _ in }
let search = Loop.Timer(restartableAfter: .milliseconds(300)) { _ in }

loop.add(heartbeat)
print("before the run: \(loop.explain(heartbeat))")

loop.add(blink, in: .tracking)
loop.add(search)
loop.perform {
    print("heartbeat: \(loop.explain(heartbeat))")
    print("autosave: \(loop.explain(autosave))")
    print("blink: \(loop.explain(blink))")
    print("search: \(loop.explain(search))")
    heartbeat.invalidate()
    print("heartbeat: \(loop.explain(heartbeat))")
}
loop.run(mode: .default, for: .zero)
