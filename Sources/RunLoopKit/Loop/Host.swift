/// What a loop knows of a foreign loop that hosts it and does the sleeping. All calls come on the loop's thread.
protocol Host: AnyObject {
    /// A run is about to begin, in a handler of a hosted pass or between two passes: the host does not sleep.
    func runWillBegin()

    /// The run has ended.
    func runHasEnded()

    /// The loop has consumed events from the kernel, or armed a timer, and may come to a handler that runs the host.
    func mayHaveMore()

    /// The loop has ended.
    func loopHasEnded()
}
