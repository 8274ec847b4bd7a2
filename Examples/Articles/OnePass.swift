import RunLoopKit

let loop = Loop(clock: VirtualClock())  // time jumps when the loop is idle

loop.add(Loop.Observer { _, activity in print(activity) })
loop.perform { print("    a block, posted before the run") }

let source = Loop.Source0 { print("    a source, signalled before") }
loop.add(source)
source.signal()

loop.add(
    Loop.Timer(after: .seconds(1)) { _ in
        print("    a timer, which posts a block")
        loop.perform { print("    the timer's block") }
    })

let result = loop.run(mode: .default, for: .seconds(2))
print("The run returned '\(result)'.")
