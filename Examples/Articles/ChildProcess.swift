import RunLoopKit

let child = try Loop.ChildProcess("sh", ["-c", "sleep 60 & wait"]) { _, exit in
    print("the child \(exit)")
    Loop.main.stop()
}
Loop.main.add(child, in: .common)
Loop.main.perform(after: .milliseconds(50)) {
    // SIGTERM for the shell and its own child; SIGKILL after two seconds.
    child.end(within: .seconds(2))
}
Loop.main.run()
