import Glibc
import RunLoopKit

let ends = try Loop.SignalSource([SIGINT, SIGTERM]) { _, arrivals in
    print("signal \(arrivals[0].signal)")
    Loop.main.stop()
}
Loop.main.add(ends, in: .common)
Loop.main.perform { kill(getpid(), SIGTERM) }  // as `kill PID` does
Loop.main.run()
print("cleans up, and ends")
