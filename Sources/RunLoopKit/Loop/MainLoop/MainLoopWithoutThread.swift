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

    /// Reports that work for the main loop is lost, if it is. The code that ends any other loop knows that it does.
    func complainIfMainIsGone() { if isMain, hasEnded { Mistakes.shared.report(.mainLoopWithoutThread) } }
}
