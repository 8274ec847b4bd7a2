// A program that uses neither Dispatch nor concurrency: a timer, a source, a clean stop.
import RunLoopKit

let loop = Loop.main
precondition(Loop.current === loop && loop.isOnOwnThread)

let source = Loop.Source0 {
    print("source")
    loop.stop()
}
loop.add(source, in: .default)
loop.add(Loop.Timer(after: .milliseconds(5)) { _ in source.signal() }, in: .default)
loop.run()
print("\(loop.run(mode: "empty", for: .seconds(1)))")
