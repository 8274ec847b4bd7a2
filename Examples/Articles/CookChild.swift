import RunLoopKit

let child = try Loop.ChildProcess("sh", ["-c", "exit 3"]) { _, exit in
    print("the child \(exit)")
    Loop.main.stop()
}
Loop.main.add(child, in: .common)
Loop.main.run()
