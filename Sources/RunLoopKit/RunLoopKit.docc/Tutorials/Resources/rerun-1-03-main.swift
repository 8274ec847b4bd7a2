import Glibc
import RunLoopKit

for signal in [SIGINT, SIGTERM] {
    let source = try Loop.SignalSource(signal) { _, _ in Loop.main.stop() }
    Loop.main.add(source, in: .common)
}
Loop.main.run()
print("ended")
