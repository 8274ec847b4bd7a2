import RunLoopKit

let loop = Loop(clock: VirtualClock())

func tryToRun(_ what: String) {
    let start = loop.now
    let result = loop.run(mode: .default, for: .seconds(10))
    print("\(what): \(result) after \(start.duration(to: loop.now))")
}

tryToRun("nothing in the mode")

loop.add(Loop.Observer { _, _ in }, in: .default)
tryToRun("only an observer")

loop.add(Loop.Timer(every: .seconds(1)) { _ in }, in: .tracking)
tryToRun("a timer in another mode")

loop.add(Loop.Timer(after: .seconds(1)) { _ in }, in: .default)
tryToRun("a timer that fires once")

loop.add(try Loop.PortSource { _ in }, in: .default)  // the cure
tryToRun("a port, to which nothing is sent")
