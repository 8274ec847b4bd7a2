// Whether there is work, as two questions: is work there now, and can anything bring work? Both are asked with the lock
// held.

extension Loop {
    /// Whether a posted block or a signalled source waits for a pass in this mode.
    func hasPostedWork(for mode: ModeState) -> Bool {
        lock.assertHeld()
        return hasBlock(for: mode) || mode.hasSignal
    }

    /// Whether a run in this mode has anything to wait for: an item that is not an observer, a block, or the main
    /// queue, which may get a job at any time.
    func hasAnythingToWaitFor(in mode: ModeState) -> Bool {
        lock.assertHeld()
        return !mode.isEmpty || hasBlock(for: mode) || servesMainQueue(in: mode)
    }
}
