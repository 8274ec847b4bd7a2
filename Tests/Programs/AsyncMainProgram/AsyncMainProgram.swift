import RunLoopKit

/// An async main, which leaves the initial thread when it really suspends: running the main loop then has to trap.
@main
struct AsyncMainProgram {
    static func main() async {
        // As long as only the main actor has run the task, nothing has been given away.
        await Elsewhere().visit()
        runMainLoop()
    }

    nonisolated static func runMainLoop() { Loop.main.run() }
}

actor Elsewhere {
    func visit() async { await Task.yield() }
}
