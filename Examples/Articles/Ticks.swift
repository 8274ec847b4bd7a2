import RunLoopKit

var ticks = 0
let timer = Loop.Timer(every: .milliseconds(100), isolation: .shared) { _ in
    ticks += 1
    print("tick \(ticks)")
    if ticks == 3 { Loop.main.stop() }
}
Loop.main.add(timer, in: .common)
Loop.main.run()  // sleeps between the ticks, and returns when it is stopped
print("done")
