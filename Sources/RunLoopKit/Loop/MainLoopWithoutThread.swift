// The main loop of a program that has given its initial thread away. On Linux, dispatchMain() ends that thread, and
// other threads serve the main dispatch queue from then on. No thread can run the main loop then.

extension Loop {
    /// Ends the main loop if its thread has ended. The thread that makes the loop cannot know that; the main queue
    /// does: its jobs run on the initial thread or, if that has ended, on another.
    static func findOutWhetherMainCanRun() {
        System.postToMainQueue { _ in
            if !System.isInitialThread { Loop.main.end(tellingSources: true) }
        }
    }

    /// Reports once that work for the main loop is lost, if so. The code that ends any other loop knows that it does.
    func complainIfMainIsGone() {
        guard isMain, hasEnded else { return }
        _ = Loop.complaintAboutMain
    }

    private static let complaintAboutMain: Void = System.complain(
        "RunLoopKit: Loop.main was given work that never runs: its thread, the process's initial one, has been given "
            + "away (by dispatchMain(), an async main function, or a test runner). Give the work to a LoopThread or to "
            + "the main actor, or run Loop.main in a main function without 'async'. (Reported only once.)")
}
