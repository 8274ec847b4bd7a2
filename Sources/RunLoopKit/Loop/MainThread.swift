// The main loop of a program that has given its initial thread away: on Linux, dispatchMain() ends that thread, and the
// main dispatch queue is served by others from then on. Nobody can run the main loop then.

extension Loop {
    /// Ends the main loop when its thread is gone. Whoever first asks for the loop on another thread cannot know; but
    /// the main queue does: its jobs run on the initial thread, or, once that is gone, on another.
    static func findOutWhetherMainCanRun() {
        System.postToMainQueue { _ in
            if !System.isInitialThread { Loop.main.end(tellingSources: true) }
        }
    }

    /// Says once that work for the main loop is lost, if that is so. Elsewhere whoever ends a loop knows it.
    func complainIfMainIsGone() {
        guard isMain, hasEnded else { return }
        _ = Loop.complaintAboutMain
    }

    private static let complaintAboutMain: Void = System.complain(
        "RunLoopKit: Loop.main was given work that never runs: its thread, the process's initial one, has been given "
            + "away (by dispatchMain(), an async main function, or a test runner). Give the work to a LoopThread or to "
            + "the main actor, or run Loop.main in a main function without 'async'. (Said only once.)")
}
