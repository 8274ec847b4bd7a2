import RunLoopKit

let loop = Loop(clock: VirtualClock())
// Or the mode would be empty.
loop.add(try Loop.PortSource { _ in }, in: .tracking)
loop.add(
    Loop.Timer(every: .seconds(1)) { _ in print("  tick at \(loop.now)") },
    in: .common)

print("default:")
loop.run(mode: .default, for: .milliseconds(2500))

print("tracking:")
loop.run(mode: .tracking, for: .milliseconds(2500))

loop.addCommonMode(.tracking)
print("tracking, which is now a common mode:")
loop.run(mode: .tracking, for: .milliseconds(2500))
