/// What a loop knows of its host, the foreign loop that sleeps for it. All calls are made on the loop's thread.
protocol Host: AnyObject {
    /// A run is about to begin, in a handler of a hosted pass or between two passes: the host is not asleep.
    func runWillBegin(in loop: Loop)

    /// The run has ended.
    func runHasEnded(in loop: Loop)

    /// Whether the host has waited for what a mode's epoll set reports since the loop last asked the kernel. What is
    /// ready must then leave the set, so the caller asks the kernel.
    func takeNeedToPoll(in mode: ModeState) -> Bool

    /// A pass has consumed events from the kernel and wake-ups, or armed a timer. A handler that it calls next may run
    /// the host.
    func mayHaveMore(in loop: Loop)

    /// A block step has ended, and the blocks that it hid from runs nested in it are there again. A handler that the
    /// loop calls next may run the host.
    func blockStepHasEnded(in loop: Loop)

    /// The loop has ended.
    func loopHasEnded(_ loop: Loop)
}
