import Glibc
import RunLoopKit

for number in [SIGINT, SIGTERM] {
    let source = try Loop.SignalSource(number) { _, arrivals in
        print("signal \(arrivals[0].signal)")
        Loop.main.stop()
    }
    Loop.main.add(source, in: .common)
}
Loop.main.perform { kill(getpid(), SIGTERM) }  // as `kill PID` does
Loop.main.run()
print("cleans up, and ends")
