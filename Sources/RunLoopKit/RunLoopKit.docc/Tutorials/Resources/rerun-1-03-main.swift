import Glibc
import RunLoopKit

let ends = try Loop.SignalSource([SIGINT, SIGTERM]) { _, _ in Loop.main.stop() }
Loop.main.add(ends, in: .common)
Loop.main.run()
print("ended")
