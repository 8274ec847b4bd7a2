// The stop of a `LoopThread` closes its loop, which ends the runs of the thread: a run sees `isClosing`, and returns
// `stopped`.
//
// A handler that runs the loop learns of the closing by such a run: the active one, or the next one that it begins. If
// it then begins another run, such as to wait for an answer, that run outlives the closing. Otherwise a handler that
// checks for its answer, and not the result of the run, would never get the answer: each run would return at once. The
// thread ends when the handler returns.

extension Loop {
    /// Whether the closing of the loop ends the innermost run.
    @inline(__always)
    var isEndedByClosing: Bool { isClosing && isEndedByClosingSlowly }

    private var isEndedByClosingSlowly: Bool {
        @inline(never) get { !(innermostRun?.outlivesClosing ?? false) }
    }

    /// Whether the code that is calling the loop has learned that the loop is closing.
    var callerKnowsOfClosing: Bool {
        get { innermostRun?.handlerKnowsOfClosing ?? own.callerKnowsOfClosing }
        set {
            if let innermostRun {
                innermostRun.handlerKnowsOfClosing = newValue
            } else {
                own.callerKnowsOfClosing = newValue
            }
        }
    }
}
