import RunLoopKit

/// An async main, which leaves the initial thread when it really suspends: running the main loop then has to trap.
@main
struct AsyncMainProgram {
    static func main() async {
        // Until an actor other than the main one has had the task, nothing has been given away.
        await Elsewhere().visit()
        runMainLoop()
    }

    nonisolated static func runMainLoop() { Loop.main.run() }
}

actor Elsewhere {
    func visit() async { await Task.yield() }
}
